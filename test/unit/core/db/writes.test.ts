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

let client: StorageObjectStore

beforeEach(() => {
  client = memoryAdapter({ now })
})

function plugin(options: Partial<DbOptions> = {}) {
  return db({ client, resolveScope: resolveUser, bucket: 'photos', now, ...options })
}

describe('the quota function', () => {
  it('is not called for invalid input', async () => {
    const quota = vi.fn(() => null)
    const files = plugin({ quota })
    const refusal = { code: 'VALIDATION_ERROR', params: { field: 'key' } }
    await expect(files.reserve(mine, { key: '', declaredSize: 5 })).rejects.toMatchObject(refusal)
    await expect(files.confirm(mine, { key: '', size: 5 })).rejects.toMatchObject(refusal)
    expect(quota).not.toHaveBeenCalled()
  })
})

describe('db.reserve', () => {
  it('fills in scope, bucket and expiry', async () => {
    const row = await plugin().reserve(mine, { key: 'a', declaredSize: 5 })
    expect(row).toMatchObject({
      scope: 'user:1',
      bucket: 'photos',
      key: 'a',
      status: 'pending',
      declaredSize: 5,
      expiresAt: afterNoon(86_400_000),
    })
    expect(await client.findPending({ bucket: 'photos', key: 'a' })).toEqual(row)
  })

  it('reserves for pendingTtlSeconds, or until the given date', async () => {
    const files = plugin({ pendingTtlSeconds: 60 })
    const input = { key: 'a', declaredSize: 5 }
    expect(await files.reserve(mine, input)).toMatchObject({ expiresAt: afterNoon(60_000) })
    expect(await files.reserve(mine, { ...input, expiresAt: null })).toMatchObject({
      expiresAt: afterNoon(60_000),
    })
    expect(await files.reserve(mine, { ...input, expiresAt: afterNoon(7) })).toMatchObject({
      expiresAt: afterNoon(7),
    })
  })

  it('passes all other fields to the store', async () => {
    const input = {
      key: 'a',
      id: idNumber(1),
      declaredSize: 5,
      route: 'avatars',
      filename: 'me.png',
      contentType: 'image/png',
      metadata: { a: 'b' },
      storageKey: 'stored/1',
      uploadId: 'upload',
    }
    expect(await plugin().reserve(mine, input)).toMatchObject(input)
    await client.confirm({ bucket: 'photos', key: 'a', size: 5 })
    const again = { key: 'a', declaredSize: 5, overwrite: false }
    await expect(plugin().reserve(mine, again)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
  })

  it('takes scope and quota only from resolveScope and the options', async () => {
    const smuggled = { key: 'a', declaredSize: 5, scope: 'user:2', quota: { maxBytes: 1000 } }
    const files = plugin({ quota: { maxBytes: 5 } })
    expect(await files.reserve(mine, smuggled)).toMatchObject({ scope: 'user:1' })
    await expect(files.reserve(mine, { ...smuggled, declaredSize: 6 })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
  })

  it('refuses a key of another scope', async () => {
    await plugin().reserve(theirs, { key: 'a', declaredSize: 5 })
    await expect(plugin().reserve(mine, { key: 'a', declaredSize: 5 })).rejects.toMatchObject({
      code: 'KEY_CONFLICT',
    })
  })
})

describe('db.confirm', () => {
  it('fills in scope and bucket', async () => {
    await plugin().reserve(mine, { key: 'a', declaredSize: 5 })
    const row = await plugin().confirm(mine, { key: 'a', size: 6, eTag: 'etag' })
    expect(row).toMatchObject({ scope: 'user:1', status: 'active', size: 6, eTag: 'etag' })
  })

  it('checks the quota for growth beyond the reservation', async () => {
    const files = plugin({ quota: { maxBytes: 5 } })
    await files.reserve(mine, { key: 'a', declaredSize: 5 })
    await expect(files.confirm(mine, { key: 'a', size: 6 })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      params: { limit: 'maxBytes', max: 5, used: 5, requested: 1 },
    })
    expect(await files.confirm(mine, { key: 'a', size: 5 })).toMatchObject({ status: 'active' })
  })

  it("doesn't find keys of another scope", async () => {
    await plugin().reserve(theirs, { key: 'a', declaredSize: 5 })
    await expect(plugin().confirm(mine, { key: 'a', size: 5 })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
    expect(await client.findPending({ bucket: 'photos', key: 'a' })).not.toBeNull()
  })
})

describe('db.release', () => {
  it('releases only reservations of the caller', async () => {
    await plugin().reserve(mine, { key: 'a', declaredSize: 5 })
    expect(await plugin().release(theirs, { key: 'a' })).toBeNull()
    expect(await plugin().release(mine, { key: 'a', id: idNumber(9) })).toBeNull()
    expect(await plugin().release(mine, { key: 'a' })).toMatchObject({ key: 'a', status: 'pending' })
    expect(await plugin().release(mine, { key: 'a' })).toBeNull()
  })
})

describe('db.remove', () => {
  beforeEach(async () => {
    await plugin().reserve(mine, { key: 'a', declaredSize: 5 })
    await plugin().confirm(mine, { key: 'a', size: 5 })
  })

  it('removes only the attempt that it names', async () => {
    const { attemptId } = (await client.findActive({ bucket: 'photos', key: 'a' }))!
    await plugin().reserve(mine, { key: 'a', declaredSize: 5 })
    const replacement = await plugin().confirm(mine, { key: 'a', size: 5 })
    expect(await plugin().remove(mine, { key: 'a', attemptId })).toBeNull()
    const named = { key: 'a', attemptId: replacement.attemptId }
    expect(await plugin().remove(mine, named)).toMatchObject({ status: 'deleted' })
  })

  it('removes only objects of the caller', async () => {
    expect(await plugin().remove(theirs, { key: 'a' })).toBeNull()
    expect(await plugin().remove(mine, { key: 'a' })).toMatchObject({ key: 'a', status: 'deleted' })
    expect(await plugin().remove(mine, { key: 'a' })).toBeNull()
  })

  it.each([
    ['soft', undefined, null, 1],
    ['soft', 'soft', undefined, 1],
    ['hard', 'hard', undefined, 0],
    ['hard', 'hard', null, 0],
    ['soft', 'hard', 'soft', 1],
    ['hard', 'soft', 'hard', 0],
  ] as const)('is %s with the deleteMode %s and the mode %s', async (_how, deleteMode, mode, history) => {
    await plugin(deleteMode && { deleteMode }).remove(mine, { key: 'a', mode })
    expect(await client.findActive({ bucket: 'photos', key: 'a' })).toBeNull()
    expect(await client.countByScope('user:1', 'deleted')).toBe(history)
  })
})

describe('all four', () => {
  type Write = (of: ReturnType<typeof plugin>, request: Request, bucket?: string | null) => Promise<unknown>
  const WRITES: readonly [string, Write][] = [
    ['reserve', (of, request, bucket) => of.reserve(request, { key: 'a', declaredSize: 5, bucket })],
    ['confirm', (of, request, bucket) => of.confirm(request, { key: 'a', size: 5, bucket })],
    ['release', (of, request, bucket) => of.release(request, { key: 'a', bucket })],
    ['remove', (of, request, bucket) => of.remove(request, { key: 'a', bucket })],
  ]

  it.each(WRITES)('use the given bucket, else that of the plugin: %s', async (_name, write) => {
    for (const [given, taken] of [
      ['videos', 'videos'],
      [null, 'photos'],
      [undefined, 'photos'],
    ] as const) {
      client = memoryAdapter({
        now,
        objects: [{ scope: 'user:1', bucket: taken, key: 'a', status: 'pending', declaredSize: 5 }],
      })
      expect(await write(plugin(), mine, given)).toMatchObject({ bucket: taken, key: 'a' })
    }
  })

  it.each(WRITES)('require a bucket if the plugin has none: %s', async (_name, write) => {
    await expect(write(plugin({ bucket: undefined }), mine)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      params: { field: 'bucket' },
    })
  })

  it.each(WRITES)(
    'reject with UNAUTHORIZED without a signed-in user, before checking the input: %s',
    async (_name, write) => {
      await expect(write(plugin(), anonymous, '')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
      const files = plugin()
      await expect(files.reserve(anonymous, undefined as never)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      })
    },
  )

  it.each(['reserve', 'confirm', 'release', 'remove'] as const)(
    'refuse an input that is not an object: %s',
    async (name) => {
      for (const input of [undefined, null, 'a']) {
        await expect(plugin()[name](mine, input as never)).rejects.toMatchObject({
          code: 'VALIDATION_ERROR',
          params: { field: 'input' },
        })
      }
    },
  )
})

describe('the quota', () => {
  const exceeded = { code: 'QUOTA_EXCEEDED' }

  it('can be the same for all scopes', async () => {
    const files = plugin({ quota: { maxFiles: 1 } })
    await files.reserve(mine, { key: 'a', declaredSize: 5 })
    await files.reserve(theirs, { key: 'b', declaredSize: 5 })
    await expect(files.reserve(mine, { key: 'c', declaredSize: 5 })).rejects.toMatchObject(exceeded)
  })

  it('can be a function of the scope and the request', async () => {
    const quota = vi.fn(async (scope: string) => ({ maxBytes: scope === 'user:1' ? 5 : 10 }))
    const files = plugin({ quota })
    await expect(files.reserve(mine, { key: 'a', declaredSize: 6 })).rejects.toMatchObject(exceeded)
    await expect(files.reserve(theirs, { key: 'a', declaredSize: 6 })).resolves.toMatchObject({ key: 'a' })
    expect(quota.mock.calls).toEqual([
      ['user:1', mine],
      ['user:2', theirs],
    ])
  })

  it('can be absent, for one scope or for all', async () => {
    for (const quota of [null, undefined, {}, () => null, async () => null, () => ({})]) {
      const files = plugin({ quota })
      await files.reserve(mine, { key: 'a', declaredSize: 1e15 })
      await expect(files.confirm(mine, { key: 'a', size: 2e15 })).resolves.toMatchObject({ size: 2e15 })
    }
  })

  it.each([undefined, 5, 'none', true, [], { maxBytes: -1 }, { maxBytes: '5' }, { maxFiles: NaN }])(
    'is INTERNAL_ERROR, reported to onError, and never unlimited if a function returns %o',
    async (result) => {
      const onError = vi.fn()
      const files = plugin({ quota: () => result as never, onError })
      for (const write of [
        () => files.reserve(mine, { key: 'a', declaredSize: 5 }),
        () => files.confirm(mine, { key: 'a', size: 5 }),
      ]) {
        await expect(write()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
      }
      const reported = expect.objectContaining({
        message: expect.stringContaining('quota function') as string,
      }) as Error
      expect(onError.mock.calls).toEqual([
        [reported, { request: mine, operation: 'db.reserve' }],
        [reported, { request: mine, operation: 'db.confirm' }],
      ])
      expect(await client.find({ bucket: 'photos', key: 'a' })).toBeNull()
    },
  )

  it('is INTERNAL_ERROR, reported to onError, if a function throws or rejects', async () => {
    const error = new Error('the billing service is down')
    const throwing = () => {
      throw error
    }
    for (const quota of [throwing, () => Promise.reject(error)]) {
      const onError = vi.fn()
      const files = plugin({ quota, onError })
      await expect(files.reserve(mine, { key: 'a', declaredSize: 5 })).rejects.toMatchObject({
        code: 'INTERNAL_ERROR',
        cause: error,
      })
      expect(onError.mock.calls).toEqual([[error, { request: mine, operation: 'db.reserve' }]])
    }
  })

  it('keeps the code of a StorageError that a function throws', async () => {
    const onError = vi.fn()
    const thrown = new StorageError('FORBIDDEN', { message: 'No plan.' })
    const files = plugin({ quota: () => Promise.reject(thrown), onError })
    await expect(files.reserve(mine, { key: 'a', declaredSize: 5 })).rejects.toBe(thrown)
    expect(onError).not.toHaveBeenCalled()
  })
})
