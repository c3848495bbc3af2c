import { cleanUp, type ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../conformance/clock.js'
import { bytesOfSize, expectStatus, outcomesOf, startService, type Service } from '../service.js'
import { abort, begun, complete, PART, sendParts, uploaded, withMultipart, type Parts } from './in-parts.js'

const DAY = 24 * HOUR
const OWNER = 'user:1'

const uploadsOf = ({ storage }: Service, parts: Parts) =>
  storage.multipart!.list({ bucket: 'files', key: parts.object.key })

/** What a run made of each reservation and of each leftover. */
async function run({ s3 }: Service, options?: Parameters<typeof cleanUp>[1]) {
  const { reservations, leftovers } = await cleanUp(s3, options)
  return [outcomesOf(reservations), outcomesOf(leftovers)]
}

describe('cleanUp of uploads in parts that lapsed', () => {
  it('confirms late what was completed', async () => {
    const service = startService()
    const caller = service.as(OWNER)
    const parts = await begun(caller)
    await sendParts(caller, parts)
    const { storage } = service
    const at = { bucket: 'files', key: parts.object.key, uploadId: parts.uploadId }
    const { parts: stored } = (await storage.multipart!.listParts({ ...at, after: 0 }))!
    expect(await storage.multipart!.complete({ ...at, parts: stored })).toBe(true)
    service.clock.advance(DAY)
    expect(await run(service)).toEqual([['confirmed'], []])
    expect(await caller.bytes(parts.object.key)).toEqual(bytesOfSize(3, 1))
    expect((await complete(caller, parts)).status).toBe(200)
  })

  it('never completes the parts that lie there, not even all of them: it aborts', async () => {
    const service = startService()
    const parts = await begun(service.as(OWNER))
    await sendParts(service.as(OWNER), parts)
    service.clock.advance(DAY - 1)
    expect(await run(service)).toEqual([[], []])
    service.clock.advance(1)
    expect(await run(service)).toEqual([['released'], ['removed']])
    expect(await uploadsOf(service, parts)).toEqual([])
    expect(await service.objects.getScopeUsage(OWNER)).toMatchObject({ reservedBytes: 0, reservedFiles: 0 })
    service.clock.advance(HOUR)
    expect(await run(service)).toEqual([[], ['forgotten']])
  })
})

describe('cleanUp of what uploads in parts left', () => {
  it('aborts at once, waits with bytes, and forgets an hour after the last URL has ended', async () => {
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
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await uploadsOf(service, parts)).toEqual([])
    expect(await run(service)).toEqual([[], ['waiting']])
    service.clock.advance(DAY + HOUR - 1)
    expect(await run(service)).toEqual([[], ['waiting']])
    service.clock.advance(1)
    expect(await run(service)).toEqual([[], ['forgotten']])
  })

  it('removes bytes that were completed after the attempt had ended', async () => {
    const service = startService()
    const caller = service.as(OWNER)
    const parts = await begun(caller)
    await sendParts(caller, parts)
    const { storage, objects, clock } = service
    await objects.release({ bucket: 'files', key: parts.object.key })
    const at = { bucket: 'files', key: parts.object.key, uploadId: parts.uploadId }
    const { parts: stored } = (await storage.multipart!.listParts({ ...at, after: 0 }))!
    await storage.multipart!.complete({ ...at, parts: stored })
    expect(await run(service)).toEqual([[], ['waiting']])
    clock.advance(15 * MINUTE)
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await storage.head(at)).toBeNull()
    clock.advance(DAY + HOUR)
    expect(await run(service)).toEqual([[], ['forgotten']])
  })

  it('does not forget an upload that another run finds again', async () => {
    const service = startService()
    const parts = await begun(service.as(OWNER))
    await service.objects.release({ bucket: 'files', key: parts.object.key })
    service.clock.advance(2 * DAY)
    // A part that was on its way when the upload was aborted may keep it there.
    let back = 2
    const { multipart } = service.storage
    const original = multipart!.abort.bind(multipart)
    Object.assign(multipart!, {
      abort: (at: Parameters<typeof original>[0]) => (back-- > 0 ? Promise.resolve() : original(at)),
    })
    const again = startService({ ...service, storage: () => service.storage })
    expect(await run(again)).toEqual([[], ['removed']])
    expect(await run(again)).toEqual([[], ['removed']])
    expect(await run(again)).toEqual([[], ['removed']])
    expect(await run(again)).toEqual([[], ['forgotten']])
  })

  it('goes on where one abort fails', async () => {
    let stuck = ''
    const storage = withMultipart((memory) => ({
      abort: (at) => (at.uploadId === stuck ? Promise.reject(new Error('timeout')) : memory.abort(at)),
    }))
    const service = startService({ storage })
    const all = [
      await begun(service.as(OWNER)),
      await begun(service.as(OWNER)),
      await begun(service.as(OWNER)),
    ]
    for (const { object } of all) await service.objects.release({ bucket: 'files', key: object.key })
    stuck = all[0]!.uploadId
    expect((await run(service))[1]!.sort()).toEqual(['failed', 'removed', 'removed'])
    expect(await Promise.all(all.map((parts) => uploadsOf(service, parts)))).toEqual([[stuck], [], []])
    expect(await service.reportedBy('cleanUp')).toHaveLength(1)
    stuck = ''
    expect((await run(service))[1]!.sort()).toEqual(['removed', 'waiting', 'waiting'])
  })

  it('aborts all that was begun at a place whose upload has no recorded id, though one of it fails', async () => {
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
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await service.storage.multipart!.list(at)).toEqual([])
    expect(await service.storage.multipart!.list({ ...at, key: `${object.key}/beside` })).toEqual([
      beside.uploadId,
    ])
  })

  it('aborts before it forgets what a storage that repeats its calls has begun beside the recorded upload', async () => {
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
    expect(lists).toEqual([])
    service.clock.advance(1)
    expect(await run(service)).toEqual([[], ['removed']])
    expect(await uploadsOf(service, parts)).toEqual([])
    expect(await run(service)).toEqual([[], ['forgotten']])
  })

  it('touches no upload that goes on at a place in use', async () => {
    const service = startService()
    const { objects, storage, clock } = service
    const first = await begun(service.as(OWNER))
    const { key } = first.object
    await objects.release({ bucket: 'files', key })
    // An application of its own may reserve the place again, with the very upload.
    const row = { scope: OWNER, bucket: 'files', key, declaredSize: 3, expiresAt: clock.in(HOUR) }
    await objects.reserve({ ...row, storageKey: key, uploadId: first.uploadId })
    expect(await run(service)).toEqual([[], ['kept']])
    expect(await storage.multipart!.list({ bucket: 'files', key })).toEqual([first.uploadId])
  })

  it('aborts uploads of applications by their id alone, and leaves what lies under the key', async () => {
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

  it('keeps an upload of an application that a live row still names', async () => {
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

  it('looks for bytes after it has looked for uploads, so that one completed in between is found', async () => {
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

  it('removes the bytes of an object that was uploaded in parts and deleted, as of any other', async () => {
    const service = startService()
    const { key } = await uploaded(service.as(OWNER))
    await service.as(OWNER).delete(key)
    service.clock.advance(2 * DAY)
    expect(await run(service)).toEqual([[], ['forgotten']])
    expect(await service.storage.head({ bucket: 'files', key })).toBeNull()
  })
})
