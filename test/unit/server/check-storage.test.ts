import { checkStorage, createAttemptId, type ImportedItem, type ObjectStorage } from '@svc/db'
import type { ListBytesInput, ListedBytes } from '@svc/db/adapter'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { check, checkBesideTraffic } from './storage-traffic.js'
import { createWorld, OWNER, type Connection, type World } from './world.js'
import { BUCKET, startService, type Service } from './service.js'

const DAYS = 3 * 24 * HOUR

function withoutList(storage: ObjectStorage): ObjectStorage {
  return Object.fromEntries(Object.entries(storage).filter(([name]) => name !== 'list')) as typeof storage
}

/** Writes bytes that nothing names. */
async function plant({ bucket }: Pick<World, 'bucket'>, key: string): Promise<void> {
  const terms = { contentType: 'text/plain', attemptId: createAttemptId() }
  expect(await bucket.write!({ bucket: BUCKET, key, body: new Uint8Array(5), ...terms })).toBe(true)
}

const FOLDER = {
  bucket: BUCKET,
  key: 'other/folder/',
  contentType: 'text/plain',
  attemptId: createAttemptId(),
}

async function storageKeyOf(service: Service, fill: number): Promise<string> {
  const { key } = await service.as(OWNER).upload({ route: 'others' }, fill)
  return (await service.objects.findActive({ bucket: BUCKET, key }))!.storageKey!
}

describe('checkStorage', () => {
  it('finds exactly the planted differences', async () => {
    const world = createWorld()
    const service = world.start()
    const keys: string[] = []
    for (let i = 0; i < 12; i++) keys.push(await storageKeyOf(service, i))
    await world.bucket.remove({ bucket: BUCKET, key: keys[3]! })
    await world.bucket.remove({ bucket: BUCKET, key: keys[5]! })
    await plant(world, keys[5]!)
    await plant(world, 'unknown/\u{1f600}')
    await plant(world, 'unknown/\uffff')
    // In use without being active.
    await service.as(OWNER).begun({ route: 'others' })
    await service.as(OWNER).delete((await service.as(OWNER).upload({ route: 'others' }, 1)).key)
    world.clock.advance(DAYS)

    const { result, differences, found } = await check(service)
    expect(found.sort()).toEqual(
      [
        ['missing', keys[3]],
        ['changed', keys[5]],
        ['unrecorded', 'unknown/\uffff'],
        ['unrecorded', 'unknown/\u{1f600}'],
      ].sort(),
    )
    const changed = differences.find(({ kind }) => kind === 'changed')
    expect(changed).toMatchObject({ bucket: BUCKET, object: { size: 3 }, item: { size: 5 } })
    expect(result).toEqual({
      items: 13,
      rows: 13,
      missing: 1,
      changed: 1,
      unrecorded: 2,
      accepted: 0,
      after: 'unknown/\u{1f600}',
    })
  })

  it('reports bytes as unrecorded only if they are old', async () => {
    const world = createWorld()
    await plant(world, 'new')
    expect((await check(world.start())).found).toEqual([])
    expect((await check(world.start(), { olderThanSeconds: 0 })).found).toEqual([['unrecorded', 'new']])
    world.clock.advance(24 * HOUR - 1)
    expect((await check(world.start())).found).toEqual([])
    world.clock.advance(1)
    expect((await check(world.start())).found).toEqual([['unrecorded', 'new']])
  })

  it('expects an object without a storage key under its key, and compares an eTag only if it was recorded', async () => {
    const world = createWorld()
    const service = world.start()
    for (const eTag of [null, '"other"', 'same']) {
      const at = { bucket: BUCKET, key: `own/${eTag}` }
      await plant(world, at.key)
      const stored = (await world.bucket.head(at))!.eTag!
      await service.objects.reserve({ ...at, scope: OWNER, declaredSize: 5, expiresAt: world.clock.in(HOUR) })
      await service.objects.confirm({ ...at, size: 5, eTag: eTag === 'same' ? stored.slice(1, -1) : eTag })
    }
    expect((await check(service)).found).toEqual([['changed', 'own/"other"']])
  })

  it('checks a part of the bucket, and goes on where it stopped', async () => {
    const world = createWorld()
    for (let i = 0; i < 1001; i++) await plant(world, `a/${String(i).padStart(4, '0')}`)
    await plant(world, 'b')
    const service = world.start()
    expect((await check(service, { prefix: 'b', olderThanSeconds: 0 })).found).toEqual([['unrecorded', 'b']])

    const stop = new AbortController()
    const seen: unknown[] = []
    const first = await check(service, {
      olderThanSeconds: 0,
      signal: stop.signal,
      onProgress: (progress) => {
        seen.push(progress)
        stop.abort()
      },
    })
    expect(seen).toEqual([{ done: 1000, after: 'a/0999' }])
    expect(first.result).toMatchObject({ unrecorded: 1000, after: 'a/0999' })
    const second = await check(service, { olderThanSeconds: 0, after: first.result.after })
    expect(second.result).toMatchObject({ unrecorded: 2, after: 'b' })
    expect(new Set([...first.found, ...second.found].map(String)).size).toBe(1002)
  })

  it('ends without an error when its signal aborts a listing that hangs', async () => {
    const stop = new AbortController()
    const service = startService({
      storage: (memory) => ({
        ...memory,
        list: ({ signal }) =>
          new Promise((_, reject) => {
            if (!signal) return reject(new Error('The listing got no signal.'))
            signal.addEventListener('abort', () => reject(signal.reason as Error))
            stop.abort()
          }),
      }),
    })
    const { result } = await check(service, { signal: stop.signal })
    expect(result).toMatchObject({ items: 0, after: null })
  })

  it('asks the database at most twice for each page of 1000, and holds a few pages', async () => {
    const world = createWorld()
    const service = world.start()
    const keys: string[] = []
    for (let i = 0; i < 1001; i++) keys.push(`a/${String(i).padStart(4, '0')}`)
    for (const key of keys) {
      const expiresAt = world.clock.in(HOUR)
      await service.objects.reserve({ bucket: BUCKET, key, scope: OWNER, declaredSize: 5, expiresAt })
      await service.objects.confirm({ bucket: BUCKET, key, size: 5 })
    }
    const lastModified = world.clock.now()
    const limits: number[] = []
    let calls = 0
    const connection: Connection = {
      storage: (storage) => ({
        ...storage,
        async list({ after, limit }) {
          limits.push(limit)
          const start = after ? keys.indexOf(after) + 1 : 0
          const page = keys.slice(start, start + limit)
          const items: ListedBytes[] = page.map((key) => ({ key, size: 5, eTag: null, lastModified }))
          return { items, next: start + limit < keys.length ? page.at(-1)! : null }
        },
      }),
      objects: (objects) => ({
        ...objects,
        listStored(input) {
          calls++
          limits.push(input.limit!)
          return objects.listStored(input)
        },
      }),
    }
    expect((await check(world.start(connection))).result).toMatchObject({
      items: 1001,
      rows: 1001,
      missing: 0,
    })
    expect(calls).toBeLessThanOrEqual(4)
    expect(Math.max(...limits)).toBe(1000)
  })

  /** Runs `act` before the n-th call of the method. */
  function beforeCall(n: number, method: 'list' | 'listStored', act: () => Promise<unknown>): Connection {
    let calls = 0
    const pass = async () => {
      if (++calls === n) await act()
    }
    return {
      storage: (storage) => ({
        ...storage,
        async list(input) {
          if (method === 'list') await pass()
          return storage.list!(input)
        },
      }),
      objects: (objects) => ({
        ...objects,
        async listStored(input) {
          if (method === 'listStored') await pass()
          return objects.listStored(input)
        },
      }),
    }
  }

  it('does not report bytes that are removed while it looks again', async () => {
    const world = createWorld()
    await plant(world, 'own')
    const connection = beforeCall(2, 'listStored', () => world.bucket.remove({ bucket: BUCKET, key: 'own' }))
    expect((await check(world.start(connection), { olderThanSeconds: 0 })).found).toEqual([])
  })

  it('does not report an object whose bytes are replaced while it looks again', async () => {
    const world = createWorld()
    const at = { bucket: BUCKET, key: 'own' }
    const confirm = async () => {
      const expiresAt = world.clock.in(HOUR)
      await world.objects.reserve({ ...at, scope: OWNER, declaredSize: 5, expiresAt })
      await world.objects.confirm({ ...at, size: 5 })
    }
    await confirm()
    const connection = beforeCall(2, 'listStored', async () => {
      await plant(world, 'own')
      await confirm()
    })
    expect((await check(world.start(connection))).found).toEqual([])
  })

  it('awaits onDifference, and rejects with what it throws', async () => {
    const world = createWorld()
    await plant(world, 'a')
    await plant(world, 'b')
    let open = 0
    const onDifference = async () => {
      expect(++open).toBe(1)
      await Promise.resolve()
      open--
    }
    await checkStorage(world.start().s3, { onDifference, olderThanSeconds: 0 })
    const failing = () => {
      throw new Error('full')
    }
    const failed = checkStorage(world.start().s3, { onDifference: failing, olderThanSeconds: 0 })
    await expect(failed).rejects.toThrow('full')
  })

  it.each([
    [{}, 'checkStorage: onDifference must be a function (got undefined).'],
    [{ onDifference: 1 }, 'checkStorage: onDifference must be a function (got 1).'],
    [
      { olderThanSeconds: -1 },
      'checkStorage: olderThanSeconds must be a number from 0 to 315360000 (got -1).',
    ],
    [{ bucket: '' }, 'checkStorage: bucket must be'],
    [{ prefix: 5 }, 'checkStorage: prefix must be'],
    [{ after: '\ud800' }, 'checkStorage: after must not contain an unpaired surrogate.'],
  ])('refuses %o', async (options, message) => {
    const complete = { onDifference: () => undefined, ...options }
    const input = Object.keys(options).length === 0 ? options : complete
    await expect(checkStorage(startService().s3, input as never)).rejects.toThrow(message)
  })

  it('passes over folders, and bytes that it is told to ignore', async () => {
    const world = createWorld()
    await plant(world, 'logs/today')
    await plant(world, 'other/')
    await plant(world, 'other/file')
    await world.bucket.write!({ ...FOLDER, body: new Uint8Array(0) })
    const service = world.start()
    const changed = await storageKeyOf(service, 1)
    await world.bucket.remove({ bucket: BUCKET, key: changed })
    await plant(world, changed)
    world.clock.advance(DAYS)
    const asked: ImportedItem[] = []
    const ignore = async (item: ImportedItem) => {
      asked.push(item)
      return item.key.startsWith('logs/') || item.key === changed
    }
    const { found, result } = await check(service, { ignore })
    expect(found.sort()).toEqual(
      [
        ['changed', changed],
        ['unrecorded', 'other/'],
        ['unrecorded', 'other/file'],
      ].sort(),
    )
    expect(result).toMatchObject({ items: 5, changed: 1, unrecorded: 2 })
    expect(asked.map(({ bucket, key }) => [bucket, key])).toEqual(
      ['logs/today', 'other/', 'other/file'].map((key) => [BUCKET, key]),
    )
  })

  describe("if onDifference returns 'accept'", () => {
    const accept = { onDifference: () => 'accept' as const }

    /** A service with an object whose bytes were replaced by others of this size. */
    async function withCopy(size: number) {
      const world = createWorld()
      const service = world.start()
      const { key } = await service.as(OWNER).upload({ route: 'others' }, 1)
      const row = (await service.objects.findActive({ bucket: BUCKET, key }))!
      const at = { bucket: BUCKET, key: row.storageKey! }
      await world.bucket.remove(at)
      const body = new Uint8Array(size)
      await world.bucket.write!({ ...at, body, contentType: 'text/plain', attemptId: row.attemptId })
      return { service, row, eTag: (await world.bucket.head(at))!.eTag }
    }

    it('records the eTag of the bytes', async () => {
      const { service, row, eTag } = await withCopy(3)
      expect((await check(service, accept)).result).toMatchObject({ changed: 0, accepted: 1 })
      expect(await service.objects.findActive(row)).toMatchObject({ eTag, attemptId: row.attemptId })
      expect(eTag).not.toBe(row.eTag)
      expect((await check(service)).found).toEqual([])
    })

    it('refuses everything but a changed object of the same size', async () => {
      const { service, row } = await withCopy(4)
      await expect(check(service, accept)).rejects.toThrow(
        new TypeError(
          `checkStorage: onDifference may return 'accept' only for a changed object of the same size (got "changed").`,
        ),
      )
      expect(await service.objects.findActive(row)).toEqual(row)
    })
  })

  it('refuses a storage that lists in another order', async () => {
    const lastModified = new Date(0)
    const item = (key: string) => ({ key, size: 1, eTag: null, lastModified })
    const pages = [
      ['b', 'a'],
      ['\u{1f600}', '\uffff'],
      ['a', 'a'],
    ]
    for (const keys of pages) {
      const list = async () => ({ items: keys.map(item), next: null })
      const { s3 } = startService({ storage: (storage) => ({ ...storage, list }) })
      const checking = checkStorage(s3, { onDifference: () => undefined })
      await expect(checking).rejects.toThrow('does not list its keys in byte order')
    }
  })

  it('passes names that a database cannot store', async () => {
    const item = (key: string, lastModified: Date) => ({ key, size: 1, eTag: null, lastModified })
    const old = new Date(0)
    const items = [item('a\0b', new Date('9999-01-01')), item('b\0', old), item('c', old)]
    const list = async ({ after }: ListBytesInput) => ({
      items: items.filter(({ key }) => key > (after ?? '')),
      next: null,
    })
    const service = startService({ storage: (storage) => ({ ...storage, list }) })
    expect((await check(service)).found).toEqual([
      ['unrecorded', 'b\0'],
      ['unrecorded', 'c'],
    ])
  })

  it('reports nothing that is merely in flight, whatever happens between its calls', () =>
    checkBesideTraffic(30))

  it('needs a storage that lists', async () => {
    const { s3 } = startService({ storage: withoutList })
    await expect(checkStorage(s3, { onDifference: () => undefined })).rejects.toThrow(
      'checkStorage: the storage must implement list().',
    )
  })
})
