import type { ObjectStorage } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../conformance/clock.js'
import {
  around,
  bytesOfSize,
  errorOf,
  expectStatus,
  startService,
  type Begun,
  type Service,
} from './service.js'

/** Long enough for every reservation in these tests to expire. */
const LATER = 3 * HOUR

describe('quota of abandoned uploads', () => {
  const fill = async (service: Service, count: number): Promise<Begun[]> => {
    const begun = []
    for (let index = 0; index < count; index++) begun.push(await service.as('user:1').begun())
    return begun
  }

  it('is not freed while the quota has room', async () => {
    const service = startService({ quota: { maxFiles: 2 } })
    await fill(service, 1)
    service.clock.advance(LATER)
    expect((await service.as('user:1').begin()).status).toBe(201)
    expect(await service.objects.countByScope('user:1')).toBe(2)
  })

  it('is not freed if the upload has finished: it is confirmed', async () => {
    const activated: unknown[] = []
    const service = startService({
      quota: { maxFiles: 2 },
      hooks: { onActivated: (event) => activated.push(event) },
    })
    const [uploaded, empty] = await fill(service, 2)
    await service.as('user:1').put(uploaded!.upload, bytesOfSize(3))
    service.clock.advance(LATER)

    expect((await service.as('user:1').begin()).status).toBe(201)
    expect(await service.objects.findActive(uploaded!.object)).toMatchObject({ size: 3, status: 'active' })
    expect(await service.objects.find(empty!.object)).toBeNull()
    expect(activated).toEqual([
      { object: expect.objectContaining({ key: uploaded!.object.key }) as object, replaced: null },
    ])
    expect((await service.as('user:1').confirm(uploaded!.object)).status).toBe(200)
    expect((await service.as('user:1').begin()).status).toBe(413)
  })

  it('is tried a second time only', async () => {
    const service = startService({ quota: { maxFiles: 1 } })
    await fill(service, 1)
    let asked = 0
    around(service.objects, 'reserve', (reserve) => (input) => (asked++, reserve(input)))
    expect((await service.as('user:1').begin()).status).toBe(413)
    expect(asked).toBe(2)
  })

  it('is freed from the 100 oldest reservations at a time', async () => {
    const service = startService({ quota: { maxFiles: 101 } })
    await fill(service, 101)
    service.clock.advance(LATER)
    await fill(service, 1)
    expect(await service.objects.countByScope('user:1')).toBe(2)
  })

  it('is not freed if a guard denies the upload', async () => {
    const service = startService({
      quota: { maxFiles: 1 },
      upload: {
        guard: () => {
          if (denies) throw new Error('no')
        },
      },
    })
    let denies = false
    await fill(service, 1)
    service.clock.advance(LATER)
    denies = true
    expect((await service.as('user:1').begin()).status).toBe(403)
    expect(await service.objects.countByScope('user:1')).toBe(1)
  })

  describe('while the storage is down', () => {
    function flaky(failing: (key: string) => boolean) {
      let heads = 0
      const storage = (memory: ObjectStorage): ObjectStorage => ({
        ...memory,
        head(at) {
          heads++
          return failing(at.key) ? Promise.reject(new Error('connection refused')) : memory.head(at)
        },
      })
      return { storage, heads: () => heads }
    }

    it('stays used: the upload is refused, and the failure is reported', async () => {
      const { heads, storage } = flaky(() => true)
      const service = startService({ storage, quota: { maxFiles: 20 } })
      await fill(service, 20)
      service.clock.advance(LATER)
      let asked = 0
      around(service.objects, 'reserve', (reserve) => (input) => (asked++, reserve(input)))

      expect(await errorOf(await service.as('user:1').begin())).toMatchObject({
        status: 413,
        code: 'QUOTA_EXCEEDED',
        params: { used: 20 },
      })
      expect(await service.objects.countByScope('user:1')).toBe(20)
      const [error] = await service.reportedBy('upload')
      expect(error).toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
        cause: expect.objectContaining({ message: 'connection refused' }) as unknown,
      })
      expect(asked).toBe(1)
      // A broken storage is not called a hundred times while a client waits.
      expect(heads()).toBeLessThan(20)
    })

    it('is freed from the reservations that were settled before the failure', async () => {
      let broken = ''
      const { heads, storage } = flaky((key) => key === broken)
      const service = startService({ storage, quota: { maxFiles: 2 } })
      const [, second] = await fill(service, 2)
      broken = second!.object.key
      service.clock.advance(LATER)

      await expectStatus(await service.as('user:1').begin(), 201)
      expect(heads()).toBe(2)
      expect(await service.objects.find(second!.object)).toMatchObject({ status: 'pending' })
    })
  })
})
