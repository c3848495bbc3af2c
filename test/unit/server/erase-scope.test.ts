import { eraseScope, type ObjectStorage, type S3ServerCore, type StorageObject } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { HOUR, ManualClock, SECOND } from '../../conformance/clock.js'
import { until } from './events/changed-objects.js'
import {
  around,
  beginAndPut,
  bytesOfSize,
  listFromEmptyReplica,
  startService,
  type ServiceOptions,
} from './service.js'

const scope = 'user:1'
const LATER = 3 * HOUR

/** A storage that fails while the key that a call names is in the set. */
function failingStorage(...names: readonly ('head' | 'remove')[]) {
  const broken = new Set<string>()
  const storage = (memory: ObjectStorage): ObjectStorage => {
    const failing = names.map((name) => [
      name,
      (at: { bucket: string; key: string }) =>
        broken.has(at.key) ? Promise.reject(new Error('timeout')) : memory[name](at),
    ])
    return { ...memory, ...(Object.fromEntries(failing) as Partial<ObjectStorage>) }
  }
  return { broken, storage }
}

describe('eraseScope', () => {
  it('erases what a replica does not list yet', async () => {
    const service = startService()
    const caller = service.as(scope)
    await caller.upload()
    await caller.begun()
    await caller.delete((await caller.upload()).key)
    listFromEmptyReplica(service)
    const erased = { objects: 1, bytes: 3, reservations: 1, failed: [] }
    expect(await eraseScope(service.s3, { scope })).toMatchObject(erased)
    const rows = await service.objects.listByScope({ scope, fromPrimary: true })
    expect(rows).toEqual({ objects: [] })
    expect(await service.objects.checkUsage()).toEqual([])
  })

  it('erases objects with an end, also past it, like any other', async () => {
    const service = startService({ routes: { drafts: { temporarySeconds: 3600 } } })
    const keys = [await service.as(scope).upload()]
    service.clock.advance(HOUR)
    keys.push(await service.as(scope).upload())
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 2, bytes: 6, failed: [] })
    for (const { key } of keys) expect(await service.storage.head({ bucket: 'files', key })).toBeNull()
    expect(await service.objects.listByScope({ scope })).toEqual({ objects: [] })
  })

  it('deletes at once what a store records whose clock is ahead', async () => {
    const clock = new ManualClock()
    const objects = memoryAdapter({ now: () => clock.in(60 * SECOND) })
    const service = startService({ clock, objects, deleteMode: 'soft' })
    const [kept, deleted] = [await service.as(scope).upload(), await service.as(scope).upload()]
    await service.as(scope).delete(deleted.key)
    const { object: aborted } = await beginAndPut(service.as(scope))
    await service.as(scope).abort(aborted)
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 1, bytes: 3, history: 1 })
    for (const { key } of [kept, aborted]) {
      expect(await service.storage.head({ bucket: 'files', key })).toBeNull()
    }
  })

  it('deletes replaced bytes of an object that another scope has by now', async () => {
    const service = startService({ routes: { docs: { key: () => 'report', overwrite: true } } })
    const caller = service.as(scope)
    await caller.upload({}, 1)
    await caller.upload({}, 2)
    const replaced = (await service.objects.listLeftovers({ scope }))[0]!
    const at = { bucket: 'files', key: replaced.storageKey! }
    await service.objects.transfer({ bucket: 'files', key: 'report', from: scope, to: 'user:2' })
    expect(await service.storage.head(at)).not.toBeNull()
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 0, failed: [] })
    expect(await service.storage.head(at)).toBeNull()
    expect(await service.as('user:2').bytes('report')).toEqual(bytesOfSize(3, 2))
  })

  it('calls onDeleted for each object, and delivers its event', async () => {
    const clock = new ManualClock()
    const deleted: { object: StorageObject; request?: Request }[] = []
    const events: string[] = []
    const options: ServiceOptions = {
      clock,
      objects: memoryAdapter({ now: clock.now, events: true }),
      hooks: { onDeleted: (event) => void deleted.push(event) },
      onEvent: ({ type, object }) => void events.push(`${type} ${object.key}`),
    }
    const service = startService(options)
    const { key } = await service.as(scope).upload()
    await beginAndPut(service.as(scope))
    await until(() => events.length === 1)
    await eraseScope(service.s3, { scope })
    expect(deleted).toEqual([{ object: expect.objectContaining({ key, scope }) as StorageObject }])
    await until(() => events.length === 2)
    expect(events).toEqual([`activated ${key}`, `deleted ${key}`])
  })

  it('continues if the storage fails for one object, and deletes its bytes when it is repeated', async () => {
    const { broken, storage } = failingStorage('head', 'remove')
    const service = startService({ storage })
    const [first, second] = [await service.as(scope).upload(), await service.as(scope).upload()]
    broken.add(first.key)
    const { failed, ...counts } = await eraseScope(service.s3, { scope })
    expect(counts).toEqual({ objects: 2, bytes: 3, reservations: 0, history: 0 })
    expect(failed).toEqual([{ bucket: 'files', key: first.key, error: expect.any(Error) as Error }])
    expect(await service.reportedBy('eraseScope')).toEqual([failed[0]!.error])
    expect(await service.storage.head({ bucket: 'files', key: second.key })).toBeNull()

    broken.clear()
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 0, failed: [] })
    expect(await service.storage.head({ bucket: 'files', key: first.key })).toBeNull()
  })

  it('deletes bytes at the second try if the storage fails once, and counts them', async () => {
    let failures = 1
    const service = startService({
      storage: (memory): ObjectStorage => ({
        ...memory,
        remove: (at) => (failures-- > 0 ? Promise.reject(new Error('timeout')) : memory.remove(at)),
      }),
    })
    const { key } = await service.as(scope).upload()
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 1, bytes: 3, failed: [] })
    expect(await service.storage.head({ bucket: 'files', key })).toBeNull()
    expect(service.reported).toEqual([])
  })

  it('continues if the database fails for one object, and removes it when it is repeated', async () => {
    const service = startService()
    const [first, second] = [await service.as(scope).upload(), await service.as(scope).upload()]
    const { objects } = service
    let broken = true
    around(objects, 'remove', (call) => (input) => {
      return broken && input.key === first.key ? Promise.reject(new Error('reset')) : call(input)
    })
    const result = await eraseScope(service.s3, { scope })
    expect(result).toMatchObject({ objects: 1, failed: [{ bucket: 'files', key: first.key }] })
    expect(await service.as(scope).bytes(first.key)).toEqual(bytesOfSize(3))
    expect((await service.as(scope).download(second.key)).status).toBe(404)
    broken = false
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 1, bytes: 3, failed: [] })
  })

  describe('keeps bytes that another scope has stored under the same key', () => {
    async function startWithObject(storage?: ServiceOptions['storage']) {
      const service = startService(storage && { storage })
      const { key } = await service.as(scope).upload()
      const takeOver = async () => {
        const expiresAt = service.clock.in(HOUR)
        await service.objects.reserve({ scope: 'user:2', bucket: 'files', key, declaredSize: 3, expiresAt })
        await service.objects.confirm({ bucket: 'files', key, size: 3 })
      }
      return { service, key, takeOver }
    }

    it('between two runs', async () => {
      const { broken, storage } = failingStorage('head', 'remove')
      const { service, key, takeOver } = await startWithObject(storage)
      broken.add(key)
      await eraseScope(service.s3, { scope })
      broken.clear()
      await takeOver()
      expect(await eraseScope(service.s3, { scope })).toMatchObject({ bytes: 0, failed: [] })
      expect(await service.as('user:2').bytes(key)).toEqual(bytesOfSize(3))
    })

    it('between the removal of the row and of its bytes', async () => {
      const { service, key, takeOver } = await startWithObject()
      around(service.objects, 'remove', (call) => async (input) => {
        const removed = await call(input)
        await takeOver()
        return removed
      })
      expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 1, bytes: 0, failed: [] })
      expect(await service.as('user:2').bytes(key)).toEqual(bytesOfSize(3))
    })

    it('between two attempts to remove the bytes', async () => {
      let beforeFailure: (() => Promise<void>) | null = null
      const { service, key, takeOver } = await startWithObject((memory) => ({
        ...memory,
        async remove(at) {
          if (!beforeFailure) return memory.remove(at)
          await beforeFailure()
          throw new Error('timeout')
        },
      }))
      beforeFailure = takeOver
      expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 1, bytes: 0, failed: [] })
      expect(await service.as('user:2').bytes(key)).toEqual(bytesOfSize(3))
    })
  })

  it('reports its progress, and stops when its signal aborts', async () => {
    const service = startService()
    for (let index = 0; index < 20; index++) await service.as(scope).upload()
    const stop = new AbortController()
    const progress: number[] = []
    const stopped = await eraseScope(service.s3, {
      scope,
      signal: stop.signal,
      onProgress({ done }) {
        progress.push(done)
        stop.abort()
      },
    })
    // The objects that were in work are completed.
    expect(stopped).toMatchObject({ objects: 8, bytes: 24 })
    expect(progress).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(await service.objects.countByScope(scope)).toBe(12)
    expect(await eraseScope(service.s3, { scope })).toMatchObject({ objects: 12, bytes: 36 })
    expect(await eraseScope(service.s3, { scope, signal: stop.signal })).toMatchObject({ objects: 0 })
  })

  it('erases more objects, leftovers and history than fit in a page', async () => {
    const { objects, clock, s3 } = startService()
    const keys = Array.from({ length: 1001 }, (_, index) => `${index}`)
    const upload = async (key: string) => {
      const expiresAt = clock.in(HOUR)
      await objects.reserve({ scope, bucket: 'files', key, storageKey: key, declaredSize: 1, expiresAt })
      await objects.confirm({ bucket: 'files', key, size: 1 })
    }
    for (const key of keys) {
      await upload(key)
      await objects.remove({ bucket: 'files', key })
      await upload(`other ${key}`)
    }
    clock.advance(LATER)
    expect(await eraseScope(s3, { scope })).toEqual({
      objects: 1001,
      bytes: 1001,
      reservations: 0,
      history: 1001,
      failed: [],
    })
    expect(await objects.listLeftovers()).toEqual([])
  })

  it('refuses an invalid scope, before it erases anything', async () => {
    const service = startService()
    await service.as(scope).upload()
    for (const invalid of [undefined, null, '', 1, 'a'.repeat(256)]) {
      await expect(eraseScope(service.s3, { scope: invalid as string })).rejects.toThrow(
        /^eraseScope: scope must be a string of 1 to 255 characters/,
      )
    }
    expect(await service.objects.countByScope(scope)).toBe(1)
  })

  it('refuses other invalid options, and a server that createS3Server did not create', async () => {
    const { s3 } = startService()
    const message = (options: object) =>
      eraseScope(s3, { scope, ...options }).catch((error: unknown) => error as TypeError)
    expect(await message({ onProgress: 1 })).toEqual(
      new TypeError('eraseScope: onProgress must be a function (got 1).'),
    )
    expect(await message({ signal: 'now' })).toEqual(
      new TypeError('eraseScope: signal must be an AbortSignal (got "now").'),
    )
    await expect(eraseScope({} as S3ServerCore, { scope })).rejects.toThrow(
      new TypeError('eraseScope: the first argument must be a server returned by createS3Server().'),
    )
  })
})
