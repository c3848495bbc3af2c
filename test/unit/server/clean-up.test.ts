import { cleanUp, type ObjectStorage, type S3ServerCore, type StorageError } from '@svc/db'
import { describe, expect, it, vi } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { cleanUpItems, around, outcomesOf, startService } from './service.js'

/** Long enough for every reservation in these tests to expire, plus an hour. */
const LATER = 3 * HOUR

/** A storage whose first `head` fails. */
function firstHeadFails(memory: ObjectStorage): ObjectStorage {
  let calls = 0
  return { ...memory, head: (at) => (calls++ === 0 ? Promise.reject(new Error('down')) : memory.head(at)) }
}

describe('cleanUp', () => {
  it('processes all pages', async () => {
    const service = startService()
    for (let count = 0; count < 7; count++) await service.as('user:1').begun()
    for (let count = 0; count < 5; count++) await service.as('user:2').upload()
    for (const { key } of (await service.objects.listByScope({ scope: 'user:2' })).objects) {
      await service.as('user:2').delete(key)
    }
    service.clock.advance(LATER)
    const { reservations, leftovers } = await cleanUpItems(service.s3, { limit: 2 })
    expect(outcomesOf(reservations)).toEqual(Array(7).fill('released'))
    // With this clock, leftovers of the run itself have the time of its start, and are too recent to be removed.
    expect(outcomesOf(leftovers).sort()).toEqual([
      ...Array<string>(5).fill('forgotten'),
      ...Array<string>(7).fill('waiting'),
    ])
    expect(new Set(reservations.map(({ attemptId }) => attemptId)).size).toBe(7)
  })

  it('returns counts, and passes each item and its number to the caller', async () => {
    const service = startService({ storage: firstHeadFails })
    for (let count = 0; count < 3; count++) await service.as('user:1').begun()
    service.clock.advance(LATER)
    const onOutcome = vi.fn(() => {
      throw new Error('no matter')
    })
    const onProgress = vi.fn()
    expect(await cleanUp(service.s3, { onOutcome, onProgress })).toEqual({
      reservations: { confirmed: 0, released: 2, gone: 0, failed: 1 },
      leftovers: { removed: 0, forgotten: 0, waiting: 2, kept: 0, failed: 0 },
      temporary: { removed: 0, kept: 0, failed: 0 },
    })
    expect(onOutcome).toHaveBeenCalledTimes(5)
    expect(onOutcome).toHaveBeenCalledWith({
      ...{ kind: 'reservation', bucket: 'files', outcome: 'failed' },
      key: expect.any(String) as string,
      attemptId: expect.any(String) as string,
      error: expect.objectContaining({ code: 'STORAGE_UNAVAILABLE' }) as StorageError,
    })
    expect(onProgress.mock.calls.map(([progress]) => progress as unknown)).toEqual(
      [1, 2, 3, 4, 5].map((done) => ({ done })),
    )
    // One for the bucket, and one for what `onOutcome` throws each time.
    expect(await service.reportedBy('cleanUp')).toHaveLength(2)
  })

  it('stops at a signal', async () => {
    const service = startService()
    for (let count = 0; count < 50; count++) await service.as('user:1').begun()
    service.clock.advance(LATER)
    const stop = new AbortController()
    const { reservations } = await cleanUp(service.s3, { signal: stop.signal, onOutcome: () => stop.abort() })
    expect(reservations.released).toBeGreaterThan(0)
    expect(reservations.released).toBeLessThan(50)
  })

  it('leaves leftovers that appear during the run to the next one', async () => {
    const service = startService()
    for (let count = 0; count < 4; count++) await service.as('user:1').begun()
    service.clock.advance(LATER)
    around(service.objects, 'release', (release) => (input) => (service.clock.advance(1), release(input)))
    let pages = 0
    around(service.objects, 'listLeftovers', (list) => (input) => (pages++, list(input)))
    const { reservations, leftovers } = await cleanUpItems(service.s3, { limit: 1 })
    expect([reservations.length, leftovers.length, pages]).toEqual([4, 0, 5])
    expect((await cleanUpItems(service.s3, { limit: 1 })).leftovers).toHaveLength(4)
  })

  it('accepts only servers of createS3Server, which hide their dependencies', async () => {
    const { s3 } = startService()
    expect(JSON.stringify({ ...s3, db: null, handler: null })).toBe(
      '{"handler":null,"basePath":"/api/s3","files":{},"db":null}',
    )
    for (const other of [null, undefined, {}, { ...s3 }]) {
      await expect(cleanUp(other as S3ServerCore)).rejects.toThrow(
        /^cleanUp: the first argument must be a server/,
      )
    }
  })

  it('validates its options', async () => {
    const { s3 } = startService()
    await expect(cleanUp(s3, { unconfirmed: 'keep' as 'confirm' })).rejects.toThrow(/unconfirmed must be/)
    await expect(cleanUp(s3, { limit: 0 })).rejects.toThrow(
      new TypeError('cleanUp: limit must be an integer from 1 to 1000 (got 0).'),
    )
    await expect(cleanUp(s3, { onOutcome: 1 as never })).rejects.toThrow(
      'cleanUp: onOutcome must be a function (got 1).',
    )
    await cleanUp(s3, { unconfirmed: null, limit: null, onOutcome: null })
  })

  it('rejects if the records cannot be listed', async () => {
    const { s3, objects } = startService()
    objects.listExpired = () => Promise.reject(new Error('down'))
    await expect(cleanUp(s3)).rejects.toThrow('down')
  })
})
