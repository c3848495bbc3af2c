import { StorageError, type ObjectStorage, type Quota } from '@svc/db'
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
import { forEverySchedule, Interleaving } from './interleaving.js'
import { createWorld, OWNER } from './world.js'

/** Long enough for every reservation in these tests to expire. */
const LATER = 3 * HOUR

describe('the quota of an upload', () => {
  it('can be used up to the last byte and file, and not exceeded', async () => {
    const caller = startService({ quota: { maxBytes: 10, maxFiles: 3 } }).as('user:1')
    await caller.upload({ size: 4 })
    await caller.begun({ size: 6 })
    expect(await errorOf(await caller.begin({ size: 1 }))).toEqual({
      status: 413,
      code: 'QUOTA_EXCEEDED',
      message: 'The quota of 10 bytes would be exceeded: 10 in use, 1 more requested.',
      params: { limit: 'maxBytes', max: 10, used: 10, reserved: 6, requested: 1 },
    })
    await caller.begun({ size: 0 })
    expect(await errorOf(await caller.begin({ size: 0 }))).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      params: { limit: 'maxFiles', max: 3, used: 3, reserved: 2, requested: 1 },
    })
  })

  it('holds with concurrent uploads', async () => {
    const { as, objects } = startService({ quota: { maxFiles: 5 } })
    const responses = await Promise.all(Array.from({ length: 20 }, () => as('user:1').begin()))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(5)
    expect((await objects.getScopeUsage('user:1')).reservedFiles).toBe(5)
  })

  it('can depend on the scope and the request', async () => {
    const seen: string[] = []
    const { as } = startService({
      quota: async (scope, request) => {
        seen.push(`${scope} ${new URL(request.url).pathname}`)
        return scope === 'user:1' ? { maxFiles: 0 } : null
      },
    })
    expect((await as('user:1').begin()).status).toBe(413)
    expect((await as('user:2').begin()).status).toBe(201)
    expect(seen).toEqual(['user:1 /api/s3/upload', 'user:2 /api/s3/upload'])
  })

  it.each([
    ['throws', () => Promise.reject(new Error('no plan'))],
    ['returns nothing', () => undefined],
    ['returns a number', () => 5],
    ['returns an invalid limit', () => ({ maxBytes: -1 })],
    ['returns a fractional limit', () => ({ maxFiles: 0.5 })],
    ['returns a limit as a string', () => ({ maxBytes: '10' })],
  ])('is INTERNAL_ERROR if its function %s, and never unlimited', async (_, quota) => {
    const { as, objects, reported } = startService({ quota: quota as () => Quota })
    expect(await errorOf(await as('user:1').begin())).toEqual({
      status: 500,
      code: 'INTERNAL_ERROR',
      message: 'Something went wrong.',
    })
    expect(await objects.countByScope('user:1')).toBe(0)
    expect(reported).toHaveLength(1)
    expect(reported[0]?.operation).toBe('upload')
  })

  it('keeps the code of a StorageError that its function throws', async () => {
    const quota = () => Promise.reject(new StorageError('UNAUTHORIZED'))
    const { as, reported } = startService({ quota })
    expect((await as('user:1').begin()).status).toBe(401)
    expect(reported).toEqual([])
  })
})

describe('quota of abandoned uploads', () => {
  const fill = async (service: Service, count: number): Promise<Begun[]> => {
    const begun = []
    for (let index = 0; index < count; index++) begun.push(await service.as('user:1').begun())
    return begun
  }

  it('is used until the reservation expires', async () => {
    const service = startService({ quota: { maxFiles: 2 } })
    const [first] = await fill(service, 2)
    const lapses = await service.objects.findPending(first!.object)
    service.clock.moveTo(new Date(lapses!.expiresAt!.getTime() - 1))
    expect((await service.as('user:1').begin()).status).toBe(413)
    expect(await service.objects.countByScope('user:1')).toBe(2)

    service.clock.advance(1)
    expect((await service.as('user:1').begin()).status).toBe(201)
    expect(await service.objects.countByScope('user:1')).toBe(1)
  })

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

  it('is freed only from reservations of the caller', async () => {
    const service = startService({ quota: { maxFiles: 1 } })
    await service.as('user:2').begun()
    await service.as('user:1').upload()
    service.clock.advance(LATER)
    expect((await service.as('user:1').begin()).status).toBe(413)
    expect(await service.objects.countByScope('user:2')).toBe(1)
  })

  it('is freed for two uploads that begin at once, in every order of their calls', async () => {
    const schedules = await forEverySchedule(async (choose) => {
      const world = createWorld({ quota: { maxBytes: 10 } })
      const abandoned = { route: 'others', size: 5 }
      for (let count = 0; count < 2; count++) await world.start().as(OWNER).begun(abandoned)
      world.clock.advance(LATER)
      const interleaving = new Interleaving()
      const [first, second] = interleaving.connections.map((connection) =>
        world.start(connection).as(OWNER).begin({ route: 'others', size: 5 }),
      )
      const responses = await interleaving.run(first!, second!, choose)
      expect(responses.map(({ status }) => status)).toEqual([201, 201])
      expect(await world.objects.getScopeUsage(OWNER)).toMatchObject({ reservedBytes: 10, reservedFiles: 2 })
    })
    expect(schedules).toBeGreaterThan(10)
  })

  it('is freed for an upload whose neighbour settled the reservations first', async () => {
    const service = startService({ quota: { maxFiles: 2 } })
    await fill(service, 2)
    service.clock.advance(LATER)
    let isFirst = true
    around(service.objects, 'listExpired', (list) => async (input) => {
      if (isFirst) {
        isFirst = false
        await expectStatus(await service.as('user:1').begin(), 201)
      }
      return list(input)
    })
    expect((await service.as('user:1').begin()).status).toBe(201)
    expect(await service.objects.countByScope('user:1')).toBe(2)
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
    const service = startService({ quota: { maxFiles: 205 } })
    await fill(service, 205)
    service.clock.advance(LATER)
    await fill(service, 1)
    expect(await service.objects.countByScope('user:1')).toBe(106)
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
