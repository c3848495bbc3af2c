import { describe, expect, it } from 'vitest'
import { HOUR, ManualClock } from '../../../conformance/clock.js'
import {
  cleanUpItems,
  bytesOfSize,
  expectStatus,
  fetchBytes,
  outcomesOf,
  startService,
} from '../../server/service.js'
import { routes } from '../../server/checks/checked.js'
import { decideUploads } from '../../server/checks/on-storage.js'
import { begun, complete } from '../../server/multipart/in-parts.js'
import { codeOf } from './bucket-service.js'
import { gatedBody } from './gated-body.js'
import { storages } from './storages.js'

/** Long enough for every URL, reservation, and leftover in these tests to expire. */
const LATER = 5 * HOUR

describe.each(storages)('a server with $name', (kind) => {
  function started() {
    const clock = new ManualClock()
    const service = startService({
      clock,
      storage: () => kind.open({ now: clock.now }),
      routes: { docs: { key: ({ scope }) => `${scope}/report`, overwrite: true } },
    })
    return { service, clock, ann: service.as('user:ann') }
  }

  it('uploads, downloads, replaces, and deletes', async () => {
    const { service, clock, ann } = started()
    const first = await ann.upload({ size: 3 }, 1)
    expect(first).toMatchObject({ key: 'user:ann/report', status: 'active', size: 3 })
    expect(await ann.bytes(first.key)).toEqual(bytesOfSize(3, 1))
    const { url } = (await expectStatus(await ann.download(first.key), 200)) as { url: string }

    const second = await ann.upload({ size: 5 }, 2)
    expect(second).toMatchObject({ key: first.key, size: 5 })
    expect(await ann.bytes(first.key)).toEqual(bytesOfSize(5, 2))
    // The old URL returns the old bytes until cleanUp removes them.
    expect(await fetchBytes(ann, url)).toEqual(bytesOfSize(3, 1))
    clock.advance(LATER)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
    expect(await ann.bytes(first.key)).toEqual(bytesOfSize(5, 2))

    const { url: last } = (await expectStatus(await ann.download(first.key), 200)) as { url: string }
    await expectStatus(await ann.delete(first.key), 204)
    expect((await ann.handler(new Request(last))).status).toBe(404)
    await expectStatus(await ann.download(first.key), 404)

    clock.advance(LATER)
    const { leftovers } = await cleanUpItems(service.s3)
    expect(new Set(outcomesOf(leftovers))).toEqual(new Set(['forgotten']))
    expect(await service.objects.listLeftovers()).toEqual([])
    expect(service.reported).toEqual([])
  })

  it('lets no upload URL write again after its object was deleted', async () => {
    const { service, clock, ann } = started()
    const { object, upload } = await ann.begun({ size: 3 })
    await expectStatus(await ann.put(upload, bytesOfSize(3, 1)), 200)
    await expectStatus(await ann.confirm(object), 200)
    const { url } = (await expectStatus(await ann.download(object.key), 200)) as { url: string }
    await expectStatus(await ann.delete(object.key), 204)

    clock.moveTo(new Date(Date.parse(upload.expiresAt) - 1))
    expect(await codeOf(await ann.put(upload, bytesOfSize(3, 2)))).toEqual([409, 'KEY_CONFLICT', undefined])
    expect((await ann.handler(new Request(url))).status).toBe(404)
    expect((await ann.upload({ size: 3 }, 2)).key).toBe(object.key)
    expect(service.reported).toEqual([])
  })

  it('shows no bytes that wait for their check, and leaves only those that were accepted', async () => {
    const clock = new ManualClock()
    await decideUploads(startService({ clock, routes, storage: () => kind.open({ now: clock.now }) }))
  })

  it('completes an empty upload in parts for each of two calls at once', async () => {
    const { service, ann } = started()
    const parts = await begun(ann, { size: 0 })
    const responses = await Promise.all([complete(ann, parts), complete(ann, parts)])
    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    expect(await service.objects.countByScope('user:ann', 'active')).toBe(1)
    expect(service.reported).toEqual([])
  })

  it('refuses an upload that ends after its leftover was forgotten', async () => {
    const { service, clock, ann } = started()
    const { object, upload } = await ann.begun({ size: 4 })
    const body = gatedBody()
    const { url, ...init } = upload
    const request = new Request(url, { ...init, body: body.stream, ...{ duplex: 'half' } })
    const response = ann.handler(request)
    await body.send(bytesOfSize(4))
    await body.isWaitedFor()
    await expectStatus(await ann.abort(object), 204)
    clock.advance(LATER)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['forgotten'])
    body.close()
    expect(await codeOf(await response)).toEqual([403, 'FORBIDDEN', undefined])
    expect(service.reported).toEqual([])
  })
})
