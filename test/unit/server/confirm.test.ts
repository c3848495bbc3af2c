import { createAttemptId } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, SECOND } from '../../conformance/clock.js'
import { bytesOfSize, errorOf, expectStatus, startService } from './service.js'

const overwriting = { docs: { key: () => 'report', overwrite: true } }

describe('POST /upload/confirm', () => {
  it('records the object with the size and ETag from the bucket', async () => {
    const { as, objects, clock } = startService()
    const caller = as('user:1')
    const { object, upload } = await caller.begun()
    await caller.put(upload, bytesOfSize(3))
    clock.advance(5 * SECOND)
    const response = await caller.confirm(object)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      object: {
        id: object.id,
        bucket: 'files',
        key: object.key,
        status: 'active',
        createdAt: object.createdAt,
        filename: 'a.txt',
        contentType: 'text/plain',
        size: 3,
        route: 'default',
      },
    })
    expect(await objects.findActive(object)).toMatchObject({
      attemptId: object.id,
      confirmedAt: clock.now(),
      eTag: expect.stringMatching(/^"[0-9a-f]{64}"$/) as string,
      storageKey: object.key,
    })
    expect(await objects.getScopeUsage('user:1')).toEqual({
      bytes: 3,
      files: 1,
      reservedBytes: 0,
      reservedFiles: 0,
    })
  })

  it('is idempotent', async () => {
    const { as } = startService()
    const object = await as('user:1').upload()
    const again = await expectStatus(await as('user:1').confirm(object), 200)
    expect(again).toEqual({ object })
  })

  it('calls neither the hook nor the storage when it is repeated', async () => {
    let heads = 0
    const activated: unknown[] = []
    const { as } = startService({
      storage: (memory) => ({ ...memory, head: (at) => (heads++, memory.head(at)) }),
      hooks: { onActivated: (event) => activated.push(event) },
    })
    const object = await as('user:1').upload()
    await as('user:1').confirm(object)
    expect({ heads, activated: activated.length }).toEqual({ heads: 1, activated: 1 })
  })

  it('continues after the client disconnects', async () => {
    const abort = new AbortController()
    const { as, s3, objects } = startService({
      storage: (memory) => ({
        ...memory,
        head(at) {
          abort.abort()
          return memory.head(at)
        },
      }),
    })
    const caller = as('user:1')
    const { object, upload } = await caller.begun()
    await caller.put(upload, bytesOfSize(3))
    const { key, id } = object
    const request = caller.request('POST', '/upload/confirm', { key, id })
    const { signal } = abort

    expect((await s3.handler(new Request(request, { signal }))).status).toBe(200)

    expect(signal.aborted).toBe(true)
    expect(await objects.findActive(object)).toMatchObject({ attemptId: id })
  })

  it('keeps the reservation if nothing has been uploaded yet', async () => {
    const { as, objects } = startService()
    const { object, upload } = await as('user:1').begun()
    expect(await errorOf(await as('user:1').confirm(object))).toEqual({
      status: 409,
      code: 'UPLOAD_MISMATCH',
      message: 'Nothing has been uploaded yet.',
    })
    expect(await objects.findPending(object)).not.toBeNull()
    await as('user:1').put(upload, bytesOfSize(3))
    expect((await as('user:1').confirm(object)).status).toBe(200)
  })

  it.each([
    ['key', { key: '' }],
    ['key', { key: 7 }],
    ['key', { key: 'x'.repeat(1025) }],
    ['key', { key: null }],
    ['id', { id: '' }],
    ['id', { id: 'x' }],
    ['id', { id: null }],
    ['id', { id: '018f3b5c-0000-4000-8000-000000000000' }],
    ['bucket', { bucket: '' }],
    ['bucket', { bucket: ['files'] }],
  ])('refuses an invalid %s', async (field, input) => {
    const caller = startService().as('user:1')
    for (const path of ['/upload/confirm', '/upload/abort']) {
      const body = { key: 'a', id: createAttemptId(), ...input }
      expect(await errorOf(await caller.send('POST', path, body))).toMatchObject({
        status: 400,
        code: 'VALIDATION_ERROR',
        params: { field },
      })
    }
  })

  it('refuses an upper-case id', async () => {
    const { object } = await startService().as('user:1').begun()
    const response = await startService()
      .as('user:1')
      .confirm({ ...object, id: object.id.toUpperCase() })
    expect(await errorOf(response)).toMatchObject({ status: 400, params: { field: 'id' } })
  })

  it('finds an upload only in its own bucket', async () => {
    const { as } = startService({ routes: { videos: { bucket: 'large' } } })
    const { object, upload } = await as('user:1').begun()
    await as('user:1').put(upload, bytesOfSize(3))
    const { key, id } = object
    expect((await as('user:1').confirm({ key, id })).status).toBe(404)
    expect((await as('user:1').confirm({ key, id, bucket: 'large' })).status).toBe(200)
  })

  it('does not accept the id of another attempt', async () => {
    const { as } = startService({ routes: overwriting })
    const caller = as('user:1')
    const first = await caller.upload()
    const { object: second } = await caller.begun()
    const stranger = createAttemptId()
    expect((await caller.confirm({ key: 'report', id: stranger })).status).toBe(404)
    expect((await caller.confirm(second)).status).toBe(409)
    // The first attempt is still the active object, so its confirm can be repeated.
    expect((await caller.confirm(first)).status).toBe(200)
  })

  it('does not accept multipart uploads', async () => {
    const { as, objects, clock } = startService()
    const expiresAt = clock.in(HOUR)
    const row = await objects.reserve({
      scope: 'user:1',
      bucket: 'files',
      key: 'parts',
      declaredSize: 3,
      expiresAt,
      uploadId: 'u1',
    })
    expect((await as('user:1').confirm(row)).status).toBe(404)
    expect((await as('user:1').abort(row)).status).toBe(404)
    expect(await objects.findPending(row)).not.toBeNull()
  })
})

describe('a replacement', () => {
  it('replaces the object only when it is confirmed', async () => {
    const replaced: unknown[] = []
    const { as, objects, clock } = startService({
      routes: overwriting,
      hooks: { onActivated: (event) => replaced.push(event.replaced) },
    })
    const caller = as('user:1')
    const first = await caller.upload({}, 1)
    const before = await objects.findActive(first)
    clock.advance(SECOND)
    const second = await caller.begun({ size: 5, filename: 'b.txt' })
    await caller.put(second.upload, bytesOfSize(5, 2))
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 1))

    const confirmed = await expectStatus(await caller.confirm(second.object), 200)
    expect(confirmed).toMatchObject({
      object: { id: first.id, createdAt: first.createdAt, size: 5, filename: 'b.txt' },
    })
    expect(await caller.bytes('report')).toEqual(bytesOfSize(5, 2))
    expect(replaced).toEqual([null, before])
  })

  it('leaves the replaced bytes, and their URLs, to cleanUp', async () => {
    const { as, objects, storage } = startService({ routes: overwriting })
    const caller = as('user:1')
    const first = await caller.upload({}, 1)
    const { storageKey } = (await objects.findActive(first))!
    const { url } = (await expectStatus(await caller.download('report'), 200)) as { url: string }
    await caller.upload({}, 2)
    expect(await storage.head({ bucket: 'files', key: storageKey! })).not.toBeNull()
    expect((await caller.handler(new Request(url))).status).toBe(200)
    expect(await objects.listLeftovers()).toMatchObject([{ attemptId: first.id, storageKey }])
  })

  it('that is abandoned does not affect the object', async () => {
    const { as } = startService({ routes: overwriting })
    const caller = as('user:1')
    await caller.upload({}, 1)
    const { object } = await caller.begun()
    expect((await caller.abort(object)).status).toBe(204)
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 1))
  })
})
