import { beforeEach, describe, expect, it, vi } from 'vitest'
import { db, StorageError, type DbOptions, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { idNumber } from '../rows.js'
import { afterNoon, NOON } from '../settable-clock.js'
import { requestOf, resolveUser } from './db-requests.js'

const now = () => NOON
const mine = requestOf('user:1', '/upload')
const theirs = requestOf('user:2', '/upload')
const anonymous = requestOf(null, '/upload')
const RESERVATION = { key: 'a', declaredSize: 5 }

let client: StorageObjectStore

beforeEach(() => {
  client = memoryAdapter({ now })
})

function plugin(options: Partial<DbOptions> = {}) {
  return db({ client, resolveScope: resolveUser, bucket: 'photos', now, ...options })
}

describe('db.reserve', () => {
  it('fills in scope and bucket, and passes all other fields to the store', async () => {
    const input = {
      ...RESERVATION,
      id: idNumber(1),
      route: 'avatars',
      filename: 'me.png',
      contentType: 'image/png',
      metadata: { a: 'b' },
      storageKey: 'stored/1',
      uploadId: 'upload',
    }
    const row = await plugin().reserve(mine, input)
    expect(row).toMatchObject({ ...input, scope: 'user:1', bucket: 'photos' })
    expect(await client.findPending({ bucket: 'photos', key: 'a' })).toEqual(row)
    await client.confirm({ bucket: 'photos', key: 'a', size: 5 })
    const again = plugin().reserve(mine, { ...RESERVATION, overwrite: false })
    await expect(again).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
  })

  it('reserves for a day, for pendingTtlSeconds, or until the given date', async () => {
    const expiresAt = afterNoon(86_400_000)
    expect(await plugin().reserve(mine, RESERVATION)).toMatchObject({ expiresAt })
    const files = plugin({ pendingTtlSeconds: 60 })
    for (const [given, taken] of [
      [undefined, afterNoon(60_000)],
      [null, afterNoon(60_000)],
      [afterNoon(7), afterNoon(7)],
    ])
      expect(await files.reserve(mine, { ...RESERVATION, expiresAt: given })).toMatchObject({
        expiresAt: taken,
      })
  })

  it('takes the scope only from resolveScope, and the quota only from the options', async () => {
    const files = plugin({ quota: { maxBytes: 5 } })
    const ofAnother = { ...RESERVATION, scope: 'user:2' }
    expect(await files.reserve(mine, ofAnother)).toMatchObject({ scope: 'user:1' })
    const smuggled = { ...RESERVATION, quota: { maxBytes: 1000 } }
    await expect(files.reserve(mine, smuggled)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      params: { field: 'quota' },
    })
  })
})

describe('db.confirm', () => {
  it('checks the quota for growth beyond the reservation', async () => {
    const files = plugin({ quota: { maxBytes: 5 } })
    await files.reserve(mine, RESERVATION)
    await expect(files.confirm(mine, { key: 'a', size: 6 })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      params: { limit: 'maxBytes', max: 5, used: 5, requested: 1 },
    })
    const confirmed = await files.confirm(mine, { key: 'a', size: 5, eTag: 'etag' })
    expect(confirmed).toMatchObject({ status: 'active', size: 5, eTag: 'etag' })
  })
})

it('db.confirm, db.release and db.remove act only on attempts of the caller that they name', async () => {
  const files = plugin()
  const { id } = await files.reserve(mine, RESERVATION)
  await expect(files.confirm(theirs, { key: 'a', size: 5 })).rejects.toMatchObject({
    code: 'OBJECT_NOT_FOUND',
  })
  expect(await files.release(theirs, { key: 'a' })).toBeNull()
  expect(await files.release(mine, { key: 'a', id: idNumber(9) })).toBeNull()
  expect(await files.release(mine, { key: 'a', id })).toMatchObject({ id, status: 'pending' })

  await files.reserve(mine, RESERVATION)
  const { attemptId } = await files.confirm(mine, { key: 'a', size: 5 })
  expect(await files.remove(theirs, { key: 'a' })).toBeNull()
  expect(await files.remove(mine, { key: 'a', attemptId: idNumber(9) })).toBeNull()
  expect(await files.remove(mine, { key: 'a', attemptId })).toMatchObject({ status: 'deleted' })
})

it.each([
  ['soft', undefined, null, 1],
  ['hard', 'hard', null, 0],
  ['soft', 'hard', 'soft', 1],
  ['hard', 'soft', 'hard', 0],
] as const)(
  'db.remove is %s with the deleteMode %s and the mode %s',
  async (_how, deleteMode, mode, history) => {
    await plugin().reserve(mine, RESERVATION)
    await plugin().confirm(mine, { key: 'a', size: 5 })
    await plugin(deleteMode && { deleteMode }).remove(mine, { key: 'a', mode })
    expect(await client.findActive({ bucket: 'photos', key: 'a' })).toBeNull()
    expect(await client.countByScope('user:1', 'deleted')).toBe(history)
  },
)

describe.each([
  ['reserve', { declaredSize: 5 }],
  ['confirm', { size: 5 }],
  ['release', {}],
  ['remove', {}],
] as const)('db.%s', (name, fields) => {
  const write = (files: ReturnType<typeof plugin>, request: Request, input: unknown) =>
    files[name](request, input as never)

  it('uses the given bucket, else that of the plugin, and requires one', async () => {
    for (const [given, taken] of [
      ['videos', 'videos'],
      [null, 'photos'],
      [undefined, 'photos'],
    ]) {
      const pending = {
        scope: 'user:1',
        bucket: taken!,
        key: 'a',
        status: 'pending',
        declaredSize: 5,
      } as const
      client = memoryAdapter({ now, objects: [pending] })
      const row = await write(plugin(), mine, { ...fields, key: 'a', bucket: given })
      expect(row).toMatchObject({ bucket: taken, key: 'a' })
    }
    const withoutBucket = write(plugin({ bucket: undefined }), mine, { ...fields, key: 'a' })
    await expect(withoutBucket).rejects.toMatchObject({ params: { field: 'bucket' } })
  })

  it('rejects with UNAUTHORIZED without a signed-in user, before it checks the input', async () => {
    for (const input of [undefined, { ...fields, key: '' }, { ...fields, key: 'a' }])
      await expect(write(plugin(), anonymous, input)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  })

  it('checks the input before it calls the quota function', async () => {
    const quota = vi.fn(() => null)
    const refusing = (field: string) => ({ code: 'VALIDATION_ERROR', params: { field } })
    for (const input of [undefined, null, 'a'])
      await expect(write(plugin({ quota }), mine, input)).rejects.toMatchObject(refusing('input'))
    const noKey = write(plugin({ quota }), mine, { ...fields, key: '' })
    await expect(noKey).rejects.toMatchObject(refusing('key'))
    expect(quota).not.toHaveBeenCalled()
  })
})

describe('the quota', () => {
  it('can be absent, for one scope or for all', async () => {
    for (const quota of [null, undefined, {}, () => null, async () => null]) {
      const files = plugin({ quota })
      await files.reserve(mine, { key: 'a', declaredSize: 1e15 })
      await expect(files.confirm(mine, { key: 'a', size: 2e15 })).resolves.toMatchObject({ size: 2e15 })
    }
  })

  const down = new Error('the billing service is down')
  it.each<[string, () => unknown, unknown]>([
    ['throws', () => Promise.reject(down), down],
    ...[
      ...[undefined, 5, true, [], { maxBytes: -1 }, { maxBytes: '5' }, { maxFiles: NaN }],
      // A row without a limit, or with one that is misspelt.
      ...[{}, { plan: 'free' }, { maxBytes: 10, maxFile: 1 }, { max_bytes: 10, maxFiles: null }],
    ].map((result): [string, () => unknown, unknown] => [
      `returns ${JSON.stringify(result)}`,
      () => result,
      expect.objectContaining({ message: expect.stringContaining('quota()') as string }),
    ]),
  ])('is INTERNAL_ERROR, reported, and never unlimited if a function %s', async (_what, quota, error) => {
    const onError = vi.fn()
    const files = plugin({ quota: quota as never, onError })
    await expect(files.reserve(mine, RESERVATION)).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    await expect(files.confirm(mine, { key: 'a', size: 5 })).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    expect(onError.mock.calls).toEqual([
      [error, { request: mine, operation: 'db.reserve' }],
      [error, { request: mine, operation: 'db.confirm' }],
    ])
    expect(await client.find({ bucket: 'photos', key: 'a' })).toBeNull()
  })

  it('can be a row of a plans table, which has other fields', async () => {
    const plan = { id: 7, name: 'free', price: null, maxBytes: 5, maxByte: null }
    for (const quota of [() => plan, async () => ({ ...plan, maxBytes: null, maxFiles: 0 })]) {
      const reserved = plugin({ quota }).reserve(mine, { ...RESERVATION, declaredSize: 6 })
      await expect(reserved).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    }
  })

  it('keeps the code of a StorageError that a function throws', async () => {
    const onError = vi.fn()
    const thrown = new StorageError('FORBIDDEN', { message: 'No plan.' })
    const files = plugin({ quota: () => Promise.reject(thrown), onError })
    await expect(files.reserve(mine, RESERVATION)).rejects.toBe(thrown)
    expect(onError).not.toHaveBeenCalled()
  })
})
