import type { ObjectStorage, StorageObject } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../conformance/clock.js'
import { withoutMultipart } from './multipart/in-parts.js'
import {
  around,
  cleanUpItems,
  beginAndPut,
  bytesOfSize,
  expectStatus,
  outcomesOf,
  startService,
  type Service,
} from './service.js'

/** Long enough for every reservation in these tests to expire, plus an hour. */
const LATER = 3 * HOUR
const DAY = 24 * HOUR
/** How long after their removal a run verifies that no bytes are left. */
const VERIFIED_AFTER = 5 * MINUTE
const overwriting = { docs: { key: () => 'report', overwrite: true } }

const stored = (service: Service, key: string) => service.storage.head({ bucket: 'files', key })

describe('cleanUp of leftovers', () => {
  /** Creates a leftover with bytes by aborting an upload. */
  async function aborted(service: Service) {
    const begun = await beginAndPut(service.as('user:1'))
    await expectStatus(await service.as('user:1').abort(begun.object), 204)
    return begun
  }

  it('removes the bytes, and forgets the leftover once nothing can be written any more', async () => {
    const service = startService()
    const begun = await service.as('user:1').begun()
    const { writableUntil } = await leftoverOf(service, begun.object)
    await service.as('user:1').put(begun.upload, bytesOfSize(3))

    const { key, id: attemptId } = begun.object
    service.clock.advance(900 * SECOND - 1)
    const named = { bucket: 'files', key, attemptId, storageKey: key }
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([{ ...named, outcome: 'waiting' }])
    expect(await stored(service, key)).not.toBeNull()

    service.clock.advance(1)
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([{ ...named, outcome: 'removed' }])
    expect(await stored(service, key)).toBeNull()
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([])

    service.clock.moveTo(new Date(writableUntil.getTime() + HOUR - 1))
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
    service.clock.advance(1)
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([{ ...named, outcome: 'forgotten' }])
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
    expect(service.reported).toEqual([])
  })

  async function leftoverOf(service: Service, object: { key: string; id: string }) {
    await expectStatus(await service.as('user:1').abort(object), 204)
    const [leftover] = await service.objects.listLeftovers()
    return leftover!
  }

  it('comes to the leftovers of every scope before it settles more than 100 of one', async () => {
    const service = startService()
    const abort = async (scope: string) => {
      const { object } = await service.as(scope).begun()
      await expectStatus(await service.as(scope).abort(object), 204)
      service.clock.advance(1)
      return object.id
    }
    const busy = []
    while (busy.length < 130) busy.push(await abort('user:busy'))
    const [first, second] = [await abort('user:1'), await abort('user:2')]
    service.clock.advance(DAY)
    const { leftovers } = await cleanUpItems(service.s3, { limit: 60 })
    const order = [...busy.slice(0, 100), first, second, ...busy.slice(100)]
    expect(leftovers.map(({ attemptId }) => attemptId)).toEqual(order)
    expect(new Set(outcomesOf(leftovers))).toEqual(new Set(['forgotten']))
  })

  it.each([{ expiresIn: 2 * 3600 }, { expiresIn: 60, maxExpiresIn: 2 * 3600 }])(
    'keeps replaced bytes for the longest lifetime of a download URL: %o',
    async (download) => {
      const service = startService({ routes: overwriting, download })
      const caller = service.as('user:1')
      await caller.upload({}, 1)
      const { url } = (await expectStatus(await caller.download('report'), 200)) as { url: string }
      await caller.upload({}, 2)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['waiting'])
      service.clock.advance(2 * HOUR - 1)
      expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
      if (!download.maxExpiresIn) {
        const response = await caller.handler(new Request(url))
        expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytesOfSize(3, 1))
      }

      service.clock.advance(1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
      expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 2))
    },
  )

  describe('with a lifetime of download URLs for each object', () => {
    const download = {
      expiresIn: ({ contentType }: StorageObject) => (contentType === 'video/mp4' ? 2 * 3600 : 60),
      maxExpiresIn: 7 * 24 * 3600,
    }
    const film = { contentType: 'video/mp4' }

    it('keeps the bytes of a replaced object for a minute more than its own lifetime', async () => {
      const service = startService({ routes: overwriting, download })
      const caller = service.as('user:1')
      await caller.upload(film, 1)
      const { url } = (await expectStatus(await caller.download('report'), 200)) as { url: string }
      for (let version = 2; version <= 51; version++) await caller.upload({}, version)
      const { url: urlOfText } = (await expectStatus(await caller.download('report'), 200)) as { url: string }
      await caller.upload(film, 52)
      expect(new Set(outcomesOf((await cleanUpItems(service.s3)).leftovers))).toEqual(new Set(['waiting']))

      service.clock.advance(2 * MINUTE - 1)
      expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
      service.clock.advance(1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(Array(50).fill('removed'))
      expect((await caller.handler(new Request(urlOfText))).ok).toBe(false)

      service.clock.advance(2 * HOUR - 2 * MINUTE - 1)
      const response = await caller.handler(new Request(url))
      expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytesOfSize(3, 1))
      service.clock.advance(MINUTE)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).not.toContain('removed')
      service.clock.advance(1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toContain('removed')
      service.clock.advance(2 * HOUR)
      await cleanUpItems(service.s3)
      expect(await service.objects.listLeftovers()).toEqual([])
      expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 52))
      expect(service.reported).toEqual([])
    })

    it('does so where the application has wrapped confirm', async () => {
      const service = startService({ routes: overwriting, download })
      around(service.objects, 'confirm', (call) => (input) => call(input))
      const caller = service.as('user:1')
      await caller.upload({}, 1)
      await caller.upload({}, 2)
      service.clock.advance(2 * MINUTE)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
    })

    it('keeps them for the longest lifetime if the function fails, which is reported', async () => {
      const service = startService({ routes: overwriting, download: { ...download, expiresIn: () => NaN } })
      const caller = service.as('user:1')
      await caller.upload({}, 1)
      await caller.upload({}, 2)
      expect(await service.reportedBy('download.expiresIn')).toMatchObject([{ code: 'INTERNAL_ERROR' }])
      service.clock.advance(7 * DAY - 1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['waiting'])
      service.clock.advance(1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
    })

    it('keeps them until a minute after the end of a temporary object, if that is sooner', async () => {
      const service = startService({
        routes: { docs: { ...overwriting.docs, temporarySeconds: 30 } },
        download,
      })
      const caller = service.as('user:1')
      await caller.upload(film, 1)
      await caller.upload({}, 2)
      const [leftover] = await service.objects.listLeftovers()
      expect(leftover?.readableUntil).toEqual(service.clock.in(30 * SECOND))
    })
  })

  it('keeps replaced bytes of temporary objects until a minute after their end', async () => {
    const drafts = { docs: { key: () => 'report', overwrite: true, temporarySeconds: 3600 } }
    const service = startService({ routes: drafts, download: { expiresIn: 7 * 24 * 3600 } })
    const caller = service.as('user:1')
    await caller.upload({}, 1)
    const { url } = (await expectStatus(await caller.download('report'), 200)) as { url: string }
    for (let version = 2; version <= 51; version++) await caller.upload({}, version)
    const { id } = await caller.upload({}, 52)
    await service.objects.keep({ scope: 'user:1', objects: [{ id }] })
    expect(new Set(outcomesOf((await cleanUpItems(service.s3)).leftovers))).toEqual(new Set(['waiting']))

    service.clock.advance(HOUR - 1)
    const response = await caller.handler(new Request(url))
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytesOfSize(3, 1))
    service.clock.advance(MINUTE)
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
    service.clock.advance(1)
    const { leftovers } = await cleanUpItems(service.s3)
    expect(outcomesOf(leftovers)).toEqual(Array(51).fill('removed'))
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 52))
    expect(service.reported).toEqual([])
  })

  it('keeps them no longer for a URL that was signed before the end was set', async () => {
    const service = startService({ routes: overwriting, download: { expiresIn: 7 * 24 * 3600 } })
    const caller = service.as('user:1')
    await caller.upload({}, 1)
    const { url } = (await expectStatus(await caller.download('report'), 200)) as { url: string }
    await service.objects.update({ bucket: 'files', key: 'report', temporarySeconds: 60 })
    await caller.upload({}, 2)
    service.clock.advance(2 * MINUTE - 1)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['waiting'])
    expect((await caller.handler(new Request(url))).status).toBe(200)
    service.clock.advance(1)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
    expect((await caller.handler(new Request(url))).status).toBe(404)
  })

  it('keeps bytes that a live row uses', async () => {
    const service = startService()
    const { key, id } = (await aborted(service)).object
    const { objects, clock } = service
    const claim = { scope: 'user:1', bucket: 'files', key, declaredSize: 3, expiresAt: clock.in(9 * DAY) }

    // The application has stored its own bytes under the key.
    await objects.reserve(claim)
    clock.advance(LATER)
    const kept = [{ bucket: 'files', key, attemptId: id, storageKey: key, outcome: 'kept' }]
    expect((await cleanUpItems(service.s3)).leftovers).toEqual(kept)
    await objects.confirm({ bucket: 'files', key, size: 3 })
    clock.advance(DAY - 1)
    expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
    clock.advance(1)
    expect((await cleanUpItems(service.s3)).leftovers).toEqual(kept)
    expect(await stored(service, key)).not.toBeNull()

    // The application has reused the storage key for another attempt.
    await objects.remove({ bucket: 'files', key, mode: 'hard' })
    await objects.reserve({ ...claim, storageKey: key })
    clock.advance(DAY)
    expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['kept'])
    expect(await stored(service, key)).not.toBeNull()
  })

  it.each(['head', 'remove'] as const)(
    'retries an hour later if %s fails, and continues with the other leftovers',
    async (call) => {
      const broken = new Set<string>()
      const service = startService({
        storage: (memory): ObjectStorage => ({
          ...memory,
          [call]: (at: { bucket: string; key: string }) =>
            broken.has(at.key) ? Promise.reject(new Error('timeout')) : memory[call](at),
        }),
      })
      const first = await aborted(service)
      const second = await aborted(service)
      broken.add(first.object.key)
      service.clock.advance(LATER)
      const { leftovers } = await cleanUpItems(service.s3)
      expect(leftovers).toMatchObject([
        { attemptId: first.object.id, outcome: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } },
        { attemptId: second.object.id, outcome: 'removed' },
      ])
      expect(await service.reportedBy('cleanUp')).toHaveLength(1)
      broken.clear()
      service.clock.advance(VERIFIED_AFTER - 1)
      expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
      service.clock.advance(1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['forgotten'])
      service.clock.advance(HOUR - VERIFIED_AFTER - 1)
      expect((await cleanUpItems(service.s3)).leftovers).toEqual([])
      service.clock.advance(1)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['removed'])
      service.clock.advance(VERIFIED_AFTER)
      expect(outcomesOf((await cleanUpItems(service.s3)).leftovers)).toEqual(['forgotten'])
    },
  )

  it('never forgets a multipart upload that the storage cannot abort', async () => {
    const service = startService({ storage: withoutMultipart })
    const { objects, clock } = service
    const row = { bucket: 'files', key: 'parts', scope: 'user:1', declaredSize: 3 }
    await objects.reserve({ ...row, expiresAt: clock.in(MINUTE), uploadId: 'u1' })
    await objects.release({ bucket: 'files', key: 'parts' })
    clock.advance(LATER)
    for (let run = 0; run < 2; run++) {
      expect((await cleanUpItems(service.s3)).leftovers).toMatchObject([
        { storageKey: null, outcome: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } },
      ])
      clock.advance(HOUR)
    }
    expect(await service.reportedBy('cleanUp')).toMatchObject([
      { message: expect.stringContaining('"u1"') as string },
      { message: expect.stringContaining('"u1"') as string },
    ])
    expect(await objects.listLeftovers()).toHaveLength(1)
  })
})
