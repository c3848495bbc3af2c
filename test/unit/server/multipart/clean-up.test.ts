import type { CleanUpOptions, ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../conformance/clock.js'
import { cleanUpItems, expectStatus, outcomesOf, startService, type Service } from '../service.js'
import { abort, begun, PART, sendParts, withMultipart, type Parts } from './in-parts.js'

const DAY = 24 * HOUR
const OWNER = 'user:1'

const uploadsOf = ({ storage }: Service, parts: Parts) =>
  storage.multipart!.list({ bucket: 'files', key: parts.object.key })

/** Runs cleanUp and returns the outcomes. */
async function run({ s3 }: Service, options?: CleanUpOptions) {
  const { reservations, leftovers } = await cleanUpItems(s3, options)
  return [outcomesOf(reservations), outcomesOf(leftovers)]
}

describe('cleanUp of leftovers of multipart uploads', () => {
  it('aborts uploads at once, removes bytes later, and forgets an hour after the last URL has expired', async () => {
    const failing = { abort: true }
    const storage = withMultipart((memory) => ({
      abort: (at) => (failing.abort ? Promise.reject(new Error('timeout')) : memory.abort(at)),
    }))
    const service = startService({ storage })
    const parts = await begun(service.as(OWNER), { size: PART + 1 })
    await sendParts(service.as(OWNER), parts, { only: [2] })
    await expectStatus(await abort(service.as(OWNER), parts), 204)
    expect(await run(service)).toEqual([[], ['failed']])
    failing.abort = false
    service.clock.advance(HOUR)
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await uploadsOf(service, parts)).toEqual([])
    service.clock.advance(DAY - 1)
    expect(await run(service)).toEqual([[], []])
    service.clock.advance(1)
    expect(await run(service)).toEqual([[], ['forgotten']])
  })

  it('does not forget an upload that reappears', async () => {
    const service = startService()
    const parts = await begun(service.as(OWNER))
    await service.objects.release({ bucket: 'files', key: parts.object.key })
    service.clock.advance(2 * DAY)
    // A part in transfer during the abort can keep the upload alive.
    let back = 2
    const { multipart } = service.storage
    const original = multipart!.abort.bind(multipart)
    Object.assign(multipart!, {
      abort: (at: Parameters<typeof original>[0]) => (back-- > 0 ? Promise.resolve() : original(at)),
    })
    const again = startService({
      objects: service.objects,
      clock: service.clock,
      storage: () => service.storage,
    })
    for (const outcome of ['removed', 'removed', 'removed', 'forgotten']) {
      expect(await run(again)).toEqual([[], [outcome]])
      service.clock.advance(5 * MINUTE)
    }
  })

  it('aborts all uploads to the key if no id is recorded, even if one abort fails', async () => {
    let stuck = ''
    const storage = withMultipart((memory) => ({
      abort: (at) => (at.uploadId === stuck ? Promise.reject(new Error('timeout')) : memory.abort(at)),
    }))
    const service = startService({ storage })
    const { object } = await service.as(OWNER).begun()
    const at = { bucket: 'files', key: object.key }
    const input = { ...at, contentType: 'text/plain', attemptId: object.id }
    const ids = [
      await service.storage.multipart!.create(input),
      await service.storage.multipart!.create(input),
    ]
    const beside = await service.storage.multipart!.create({ ...input, key: `${object.key}/beside` })
    await service.as(OWNER).abort(object)
    stuck = ids[0]!.uploadId
    expect(await run(service)).toEqual([[], ['failed']])
    expect(await service.storage.multipart!.list(at)).toEqual([stuck])
    stuck = ''
    service.clock.advance(HOUR)
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await service.storage.multipart!.list(at)).toEqual([])
    expect(await service.storage.multipart!.list({ ...at, key: `${object.key}/beside` })).toEqual([
      beside.uploadId,
    ])
  })

  it('aborts uploads that a retrying storage has started in addition to the recorded one', async () => {
    const lists: string[] = []
    const storage = withMultipart((memory) => ({
      create: async (input) => {
        await memory.create(input)
        return memory.create(input)
      },
      list: (at) => (lists.push(at.key), memory.list(at)),
    }))
    const service = startService({ storage })
    const parts = await begun(service.as(OWNER))
    expect(await uploadsOf(service, parts)).toHaveLength(2)
    await abort(service.as(OWNER), parts)
    lists.length = 0
    expect(await run(service)).toEqual([[], ['waiting']])
    service.clock.advance(DAY + HOUR - 1)
    expect(await run(service)).toEqual([[], ['waiting']])
    expect(await run(service)).toEqual([[], []])
    expect(lists).toEqual([])
    service.clock.advance(1)
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await uploadsOf(service, parts)).toEqual([])
    service.clock.advance(5 * MINUTE)
    expect(await run(service)).toEqual([[], ['forgotten']])
  })

  it('does not abort uploads to a storage key in use', async () => {
    const service = startService()
    const { objects, storage, clock } = service
    const first = await begun(service.as(OWNER))
    const { key } = first.object
    await objects.release({ bucket: 'files', key })
    // The application may reserve the storage key again, with the same upload.
    const row = { scope: OWNER, bucket: 'files', key, declaredSize: 3, expiresAt: clock.in(HOUR) }
    await objects.reserve({ ...row, storageKey: key, uploadId: first.uploadId })
    expect(await run(service)).toEqual([[], ['kept']])
    expect(await storage.multipart!.list({ bucket: 'files', key })).toEqual([first.uploadId])
  })

  it('aborts uploads of the application only by id, and keeps the object at the key', async () => {
    const service = startService()
    const { objects, storage, clock } = service
    const at = { bucket: 'files', key: 'theirs', contentType: 'text/plain', attemptId: 'none' }
    const one = await storage.multipart!.create(at)
    const other = await storage.multipart!.create(at)
    const row = { scope: OWNER, bucket: 'files', key: 'theirs', declaredSize: 3, expiresAt: clock.in(MINUTE) }
    await objects.reserve({ ...row, uploadId: one.uploadId })
    await objects.release({ bucket: 'files', key: 'theirs' })
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await storage.multipart!.list(at)).toEqual([other.uploadId])
    clock.advance(MINUTE + HOUR)
    expect(await run(service)).toEqual([[], ['forgotten']])
    expect(await storage.multipart!.list(at)).toEqual([other.uploadId])
  })

  it('keeps an upload of the application that a live row refers to', async () => {
    const service = startService()
    const { objects, storage, clock } = service
    const at = { bucket: 'files', key: 'theirs', contentType: 'text/plain', attemptId: 'none' }
    const { uploadId } = await storage.multipart!.create(at)
    const row = { scope: OWNER, bucket: 'files', key: 'theirs', declaredSize: 3, expiresAt: clock.in(MINUTE) }
    await objects.reserve({ ...row, uploadId })
    await objects.reserve({ ...row, uploadId })
    expect(await run(service)).toEqual([[], ['kept']])
    expect(await storage.multipart!.list(at)).toEqual([uploadId])
  })

  it('checks uploads before bytes, which finds an upload that is completed in between', async () => {
    const order: string[] = []
    const storage = (memory: ObjectStorage): ObjectStorage => ({
      ...memory,
      head: (at) => (order.push('head'), memory.head(at)),
      multipart: {
        ...memory.multipart!,
        listParts: (at) => (order.push('uploads'), memory.multipart!.listParts(at)),
      },
    })
    const service = startService({ storage })
    const parts = await begun(service.as(OWNER))
    await abort(service.as(OWNER), parts)
    service.clock.advance(2 * DAY)
    order.length = 0
    expect(await run(service)).toEqual([[], ['forgotten']])
    expect(order).toEqual(['uploads', 'head'])
  })
})
