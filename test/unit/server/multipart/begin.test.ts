import { cleanUp, StorageError, type StorageObjectStore } from '@svc/db'
import { describe, expect, it, vi } from 'vitest'
import { HOUR, SECOND } from '../../../conformance/clock.js'
import { around, errorOf, startService } from '../service.js'
import { begin, begun, complete, PART, sendParts, withMultipart, type Parts } from './in-parts.js'

const DAY = 24 * HOUR

describe('POST /multipart', () => {
  it('reserves the upload, creates it in the bucket, and returns the ids', async () => {
    const { as, objects, storage, clock } = startService()
    const response = await begun(as('user:1'), { size: PART + 1, metadata: { a: 'b' } })
    expect(response).toEqual({
      object: {
        id: expect.any(String) as string,
        bucket: 'files',
        key: expect.stringMatching(/^default\/[0-9a-f]{32}$/) as string,
        status: 'pending',
        createdAt: '2026-01-01T12:00:00.000Z',
        filename: 'a.txt',
        contentType: 'text/plain',
        declaredSize: PART + 1,
        route: 'default',
      },
      uploadId: expect.any(String) as string,
      partSize: PART,
    })
    const { key, id } = response.object
    expect(await objects.findPending({ bucket: 'files', key })).toMatchObject({
      id,
      scope: 'user:1',
      uploadId: response.uploadId,
      storageKey: key,
      metadata: { a: 'b' },
      expiresAt: clock.in(DAY),
    })
    expect(await storage.multipart!.list({ bucket: 'files', key })).toEqual([response.uploadId])
  })

  it('reserves for pendingTtlSeconds', async () => {
    const { as, objects, clock } = startService({ pendingTtlSeconds: 60 })
    const { object } = await begun(as('user:1'), { size: 3 })
    expect((await objects.find(object))!.expiresAt).toEqual(clock.in(60 * SECOND))
  })

  it('creates the upload in the bucket only after the reservation', async () => {
    const create = vi.fn()
    const storage = withMultipart((memory) => ({
      create: (input) => {
        create(input)
        return memory.create(input)
      },
    }))
    const caller = startService({ storage, quota: { maxBytes: 2 } }).as('user:1')
    expect((await errorOf(await begin(caller))).code).toBe('QUOTA_EXCEEDED')
    expect(create).not.toHaveBeenCalled()
  })

  it('uses a storage key per attempt if the route has a key function', async () => {
    const { as, objects, storage } = startService({ routes: { docs: { key: () => 'report' } } })
    const { object, uploadId } = await begun(as('user:1'))
    expect(object.key).toBe('report')
    const { storageKey } = (await objects.findPending(object))!
    expect(storageKey).toBe(`report~${object.id}`)
    expect(await storage.multipart!.list({ bucket: 'files', key: storageKey! })).toEqual([uploadId])
    expect(await storage.multipart!.list({ bucket: 'files', key: 'report' })).toEqual([])
  })

  it('always starts a new attempt, which replaces the previous one', async () => {
    const { as, objects } = startService({ routes: { docs: { key: () => 'report' } } })
    const first = await begun(as('user:1'))
    const second = await begun(as('user:1'))
    expect(second.object.id).not.toBe(first.object.id)
    expect(second.uploadId).not.toBe(first.uploadId)
    expect(await objects.listLeftovers()).toMatchObject([
      { attemptId: first.object.id, uploadId: first.uploadId },
    ])
  })

  it.each([
    [{ size: -1 }, 'size'],
    [{ size: null }, 'size'],
    [{ contentType: 'x' }, 'contentType'],
    [{ filename: '' }, 'filename'],
    [{ route: 'constructor' }, 'route'],
    [{ metadata: { a: 1 } }, 'metadata'],
  ])('refuses the same input as a single-PUT upload: %j', async (input, field) => {
    const { as, objects } = startService()
    expect(await errorOf(await begin(as('user:1'), input))).toMatchObject({
      code: 'VALIDATION_ERROR',
      params: { field },
    })
    expect(await objects.countByScope('user:1')).toBe(0)
  })

  it('runs the guard of multipart uploads, then that of the route, and no others', async () => {
    const ran: string[] = []
    const guard = (name: string) => (context: object) => void ran.push(`${name} ${JSON.stringify(context)}`)
    const caller = startService({
      routes: { docs: { key: () => 'report', bucket: 'docs', guard: guard('route') } },
      upload: { guard: guard('upload') },
      multipart: { guard: guard('multipart') },
    }).as('user:1')
    await begun(caller)
    const context = { request: {}, scope: 'user:1', bucket: 'docs', key: 'report', route: 'docs', size: 3 }
    expect(ran.map((line) => line.split(' ')[0])).toEqual(['multipart', 'route'])
    expect(JSON.parse(ran[0]!.slice('multipart '.length))).toEqual(context)
    await caller.begin()
    expect(ran.map((line) => line.split(' ')[0]).slice(2)).toEqual(['upload', 'route'])
  })

  it('changes nothing if a guard denies the upload', async () => {
    const { as, objects } = startService({
      multipart: {
        guard: () => {
          throw new StorageError('FORBIDDEN', { message: 'Not today.' })
        },
      },
    })
    expect(await errorOf(await begin(as('user:1')))).toMatchObject({ status: 403, message: 'Not today.' })
    expect(await objects.countByScope('user:1')).toBe(0)
  })

  it('calls onReserved once', async () => {
    const onReserved = vi.fn()
    await begun(startService({ hooks: { onReserved } }).as('user:1'))
    expect(onReserved).toHaveBeenCalledTimes(1)
  })

  it('settles expired reservations of the scope if its quota is exceeded', async () => {
    const { as, clock } = startService({ quota: { maxFiles: 1 } })
    await begun(as('user:1'))
    expect((await begin(as('user:1'))).status).toBe(413)
    clock.advance(DAY)
    expect((await begin(as('user:1'))).status).toBe(201)
  })
})

describe('a multipart upload that cannot be started', () => {
  it('frees its quota if the bucket refuses', async () => {
    const storage = withMultipart(() => ({ create: () => Promise.reject(new Error('slow down')) }))
    const service = startService({ storage })
    expect(await errorOf(await begin(service.as('user:1')))).toMatchObject({
      status: 502,
      code: 'STORAGE_UNAVAILABLE',
    })
    expect(await service.objects.countByScope('user:1')).toBe(0)
    expect(await service.reportedBy('multipart')).toMatchObject([{ cause: { message: 'slow down' } }])
  })

  it('leaves a leftover, with which cleanUp finds an upload that the bucket started anyway', async () => {
    const storage = withMultipart((memory) => ({
      create: async (input) => {
        await memory.create(input)
        throw new Error('timeout')
      },
    }))
    const service = startService({ storage })
    const { objects, clock } = service
    expect((await begin(service.as('user:1'))).status).toBe(502)
    const [leftover] = await objects.listLeftovers()
    expect(leftover).toMatchObject({ uploadId: null })
    const at = { bucket: 'files', key: leftover!.storageKey! }
    expect(await service.storage.multipart!.list(at)).toHaveLength(1)
    await cleanUp(service.s3)
    expect(await service.storage.multipart!.list(at)).toEqual([])
    clock.advance(DAY + HOUR)
    await cleanUp(service.s3)
    expect(await objects.listLeftovers()).toEqual([])
  })

  it.each([
    ['was not written', (call: StorageObjectStore['setUploadId']) => ({ call, done: false })],
    ['was written without a response', (call: StorageObjectStore['setUploadId']) => ({ call, done: true })],
  ])('ends as a leftover if the database fails and the upload id %s', async (_, plan) => {
    const service = startService()
    const { objects, storage } = service
    around(objects, 'setUploadId', (original) => async (input) => {
      const { call, done } = plan(original)
      if (done) await call(input)
      throw new StorageError('DATABASE_UNAVAILABLE')
    })
    expect((await begin(service.as('user:1'))).status).toBe(503)
    expect(await objects.countByScope('user:1')).toBe(0)
    const [leftover] = await objects.listLeftovers()
    const at = { bucket: 'files', key: leftover!.storageKey! }
    expect(await storage.multipart!.list(at)).toHaveLength(1)
    await cleanUp(service.s3)
    expect(await storage.multipart!.list(at)).toEqual([])
  })

  it('returns OBJECT_NOT_FOUND if another attempt has replaced it', async () => {
    let displace = async (): Promise<unknown> => null
    const storage = withMultipart((memory) => ({
      create: async (input) => {
        const created = await memory.create(input)
        const now = displace
        displace = () => Promise.resolve(null)
        await now()
        return created
      },
    }))
    const service = startService({ storage, routes: { docs: { key: () => 'report' } } })
    const caller = service.as('user:1')
    let second: Parts | null = null
    displace = async () => (second = await begun(caller))
    expect(await errorOf(await begin(caller))).toMatchObject({ status: 404, code: 'OBJECT_NOT_FOUND' })
    expect(second).not.toBeNull()
    await sendParts(caller, second!)
    expect((await complete(caller, second!)).status).toBe(200)
  })
})
