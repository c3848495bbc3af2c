import { endUploads, type ObjectStorage, type StorageObject } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import { uploads, sent, begun } from './doors.js'
import * as inParts from './multipart/in-parts.js'
import { around, beginAndPut, bytesOfSize, cleanUpItems, expectStatus, startService } from './service.js'

const scope = 'user:1'
const routes = { docs: { key: () => 'report', overwrite: true }, others: {}, archive: { bucket: 'archive' } }
const other = { route: 'others' }

describe('endUploads', () => {
  it.each(uploads)(
    'ends what $name has begun, and keeps the object that it would replace',
    async (upload) => {
      const service = startService({ routes })
      const caller = service.as(scope)
      await caller.upload({ route: 'docs' }, 1)
      const attempts = [
        await sent(upload, caller, { route: 'docs' }, 2),
        await sent(upload, caller, other),
        await begun(upload, caller, { route: 'archive' }),
      ]
      const stranger = await sent(upload, service.as('user:2'), other)
      expect(await endUploads(service.s3, { scope })).toEqual({ ended: 3, failed: [] })

      for (const attempt of attempts) expect((await upload.finish(caller, attempt)).status).toBe(404)
      expect((await upload.finish(service.as('user:2'), stranger)).status).toBe(200)
      expect(await service.objects.getScopeUsage(scope)).toEqual({
        ...{ bytes: 3, files: 1, reservedBytes: 0, reservedFiles: 0 },
      })
      expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 1))
      const leftovers = await service.objects.listLeftovers({ scope })
      expect(leftovers.map(({ attemptId }) => attemptId)).toEqual(
        expect.arrayContaining(attempts.map(({ object }) => object.id)),
      )
      for (const { bucket, storageKey } of leftovers) {
        expect(await service.storage.multipart!.list({ bucket, key: storageKey! })).toEqual([])
      }
      service.clock.advance(48 * HOUR)
      await cleanUpItems(service.s3)
      for (const { bucket, storageKey } of leftovers) {
        expect(await service.storage.head({ bucket, key: storageKey! })).toBeNull()
      }
      expect(await endUploads(service.s3, { scope })).toEqual({ ended: 0, failed: [] })
    },
  )

  it('ends what a replica does not list yet, and what your own code has reserved', async () => {
    const { s3, objects, clock } = startService()
    const expiresAt = clock.in(HOUR)
    await objects.reserve({ scope, bucket: 'any', key: 'own', declaredSize: 3, expiresAt })
    around(objects, 'listByScope', (list) => async (input) => {
      return input.fromPrimary ? list(input) : { objects: [] }
    })
    expect(await endUploads(s3, { scope })).toEqual({ ended: 1, failed: [] })
    expect(await objects.countByScope(scope)).toBe(0)
  })

  it('lets files.put fail that it interrupts', async () => {
    const { s3, objects } = startService()
    async function* body() {
      yield bytesOfSize(1)
      await endUploads(s3, { scope })
      yield bytesOfSize(2)
    }
    const put = s3.files.put({ scope, body: body(), size: 3 })
    await expect(put).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect(await objects.countByScope(scope)).toBe(0)
  })

  it('also ends uploads that begin while it runs, and stops looking if they never end', async () => {
    const service = startService()
    await service.as(scope).begun()
    let late = 2
    around(service.objects, 'listByScope', (list) => async (input) => {
      const page = await list(input)
      if (late-- > 0) await service.as(scope).begun()
      return page
    })
    expect(await endUploads(service.s3, { scope })).toEqual({ ended: 3, failed: [] })
    expect(await service.objects.countByScope(scope)).toBe(0)

    late = Infinity
    await service.as(scope).begun()
    expect(await endUploads(service.s3, { scope })).toEqual({ ended: 10, failed: [] })
  })

  it('lists what fails once, and goes on', async () => {
    const service = startService()
    const caller = service.as(scope)
    const [kept] = [await caller.begun(), await caller.begun(), await caller.begun()]
    around(service.objects, 'release', (release) => (input) => {
      return input.key === kept.object.key ? Promise.reject(new Error('reset')) : release(input)
    })
    const { ended, failed } = await endUploads(service.s3, { scope })
    expect([ended, failed]).toEqual([
      2,
      [{ bucket: 'files', key: kept.object.key, error: new Error('reset') }],
    ])
    expect(await service.reportedBy('endUploads')).toEqual([new Error('reset')])
  })

  it('ends uploads whose parts the bucket does not remove, which cleanUp does later', async () => {
    let isDown = true
    const storage = (memory: ObjectStorage): ObjectStorage => ({
      ...memory,
      multipart: {
        ...memory.multipart!,
        abort: (at) => (isDown ? Promise.reject(new Error('timeout')) : memory.multipart!.abort(at)),
      },
    })
    const service = startService({ storage })
    const parts = await inParts.begun(service.as(scope))
    await inParts.sendParts(service.as(scope), parts)
    const { ended, failed } = await endUploads(service.s3, { scope })
    expect(ended).toBe(1)
    expect(failed).toMatchObject([{ key: parts.object.key, error: { code: 'STORAGE_UNAVAILABLE' } }])
    expect((await inParts.complete(service.as(scope), parts)).status).toBe(404)
    isDown = false
    service.clock.advance(48 * HOUR)
    await cleanUpItems(service.s3)
    const at = { bucket: 'files', key: parts.object.key }
    expect(await service.storage.multipart!.list(at)).toEqual([])
  })

  it('leaves uploads in buckets that the server does not know, which are failures', async () => {
    const first = startService()
    await beginAndPut(first.as(scope))
    const { objects, clock } = first
    const second = startService({ objects, clock, bucket: 'own' })
    const unknown = { code: 'VALIDATION_ERROR', params: { field: 'buckets' } }
    expect(await endUploads(second.s3, { scope })).toMatchObject({ ended: 0, failed: [{ error: unknown }] })
    expect(await endUploads(first.s3, { scope })).toEqual({ ended: 1, failed: [] })
  })

  it('shows its progress, and completes what is in progress when its signal aborts', async () => {
    const service = startService()
    for (let index = 0; index < 12; index++) await service.as(scope).begun()
    const stop = new AbortController()
    const progress: number[] = []
    const onProgress = ({ done }: { done: number }) => {
      progress.push(done)
      stop.abort()
    }
    const stopped = await endUploads(service.s3, { scope, signal: stop.signal, onProgress })
    expect(stopped).toEqual({ ended: 8, failed: [] })
    expect(progress).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(await endUploads(service.s3, { scope, signal: stop.signal })).toEqual({ ended: 0, failed: [] })
    expect(await endUploads(service.s3, { scope })).toEqual({ ended: 4, failed: [] })
  })

  it('holds one page of uploads in memory', async () => {
    const { s3, objects, as } = startService()
    const { object } = await as(scope).begun()
    const row = (await objects.findPending(object))!
    const open = new Set<string>()
    let most = 0
    let pages = 0
    around(objects, 'listByScope', () => async () => {
      const page = pages++
      const rows = Array.from({ length: page < 20 ? 1000 : 0 }, (_, index): StorageObject => {
        const id = `${page}.${index}`
        open.add(id)
        return { ...row, id }
      })
      most = Math.max(most, open.size)
      return { objects: rows, ...(page < 19 && { nextCursor: `${page}` }) }
    })
    around(objects, 'release', () => async ({ id }) => {
      open.delete(id!)
      return row
    })
    expect(await endUploads(s3, { scope })).toEqual({ ended: 20_000, failed: [] })
    // And those of the page before that are in work.
    expect(most).toBeLessThan(1000 + 8)
  })
})

it('a guard and endUploads suspend an owner at once', async () => {
  const suspended = new Set<string | null | undefined>()
  const guard = (context: { scope?: string | null }) => {
    if (suspended.has(context.scope)) throw Object.assign(new Error('Suspended.'), { status: 403 })
  }
  const service = startService({ upload: { guard } })
  const caller = service.as(scope)
  const [one, parts] = [await beginAndPut(caller), await inParts.begun(caller)]
  suspended.add(scope)
  await endUploads(service.s3, { scope })
  expect((await caller.begin()).status).toBe(403)
  expect((await inParts.begin(caller)).status).toBe(403)
  expect((await caller.confirm(one.object)).status).toBe(404)
  expect((await inParts.sign(caller, parts)).status).toBe(404)
  expect((await inParts.complete(caller, parts)).status).toBe(404)
  await expectStatus(await service.as('user:2').begin(), 201)
})
