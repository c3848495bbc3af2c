import { StorageError } from '@svc/db'
import { describe, expect, it, vi } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { around, bytesOfSize, errorOf, expectStatus, startService } from '../service.js'
import {
  abort,
  begun,
  complete,
  list,
  PART,
  putPart,
  referenceOf,
  sendParts,
  signed,
  uploaded,
  withMultipart,
} from './in-parts.js'

const DAY = 24 * HOUR
const MISMATCH = { status: 409, code: 'UPLOAD_MISMATCH' }

describe('POST /multipart/complete', () => {
  it('assembles the parts in order', async () => {
    const { as, objects, storage } = startService()
    const caller = as('user:1')
    const parts = await begun(caller, { size: PART + 2, metadata: { a: 'b' } })
    await sendParts(caller, parts, { only: [2] })
    await sendParts(caller, parts, { only: [1] })
    const { object } = (await expectStatus(await complete(caller, parts), 200)) as { object: object }
    const { key, id } = parts.object
    expect(object).toEqual({ ...parts.object, declaredSize: undefined, status: 'active', size: PART + 2 })
    const bytes = await caller.bytes(key)
    expect([bytes.length, bytes[0], bytes[PART - 1], bytes[PART], bytes[PART + 1]]).toEqual([
      PART + 2,
      1,
      1,
      2,
      2,
    ])
    const { eTag } = (await storage.head({ bucket: 'files', key }))!
    expect(await objects.findActive({ bucket: 'files', key })).toMatchObject({
      attemptId: id,
      size: PART + 2,
      eTag,
      metadata: { a: 'b' },
      uploadId: null,
    })
    expect(await objects.listLeftovers()).toEqual([])
  })

  it('completes an upload of 0 bytes with one empty part', async () => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size: 0 })
    expect(await errorOf(await complete(caller, parts))).toMatchObject(MISMATCH)
    const [{ url } = { url: '' }] = await signed(caller, parts)
    expect((await putPart(caller, url, null)).status).toBe(200)
    await expectStatus(await complete(caller, parts), 200)
    expect(await caller.bytes(parts.object.key)).toEqual(bytesOfSize(0))
  })

  it('continues after the client disconnects', async () => {
    const abort = new AbortController()
    const storage = withMultipart((multipart) => ({
      listParts(input) {
        abort.abort()
        return multipart.listParts(input)
      },
    }))
    const { as, s3, objects } = startService({ storage })
    const caller = as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    const request = caller.request('POST', '/multipart/complete', referenceOf(parts))
    const { signal } = abort

    expect((await s3.handler(new Request(request, { signal }))).status).toBe(200)

    expect(signal.aborted).toBe(true)
    expect(await objects.findActive(parts.object)).toMatchObject({ attemptId: parts.object.id })
  })

  it('is idempotent and calls the hook once', async () => {
    const onActivated = vi.fn()
    const caller = startService({ hooks: { onActivated } }).as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    const first = await expectStatus(await complete(caller, parts), 200)
    expect(await expectStatus(await complete(caller, parts), 200)).toEqual(first)
    expect(onActivated).toHaveBeenCalledTimes(1)
    expect((await list(caller, parts)).status).toBe(404)
    expect((await abort(caller, parts)).status).toBe(404)
    expect(await caller.bytes(parts.object.key)).toEqual(bytesOfSize(3, 1))
  })

  it.each([[[]], [[1]], [[2, 3]], [[1, 3]]])(
    'refuses an upload with missing parts: only %j of 3',
    async (only) => {
      const completed = vi.fn()
      const storage = withMultipart(() => ({ complete: completed }))
      const { as, objects } = startService({ storage })
      const caller = as('user:1')
      const parts = await begun(caller, { size: 2 * PART + 1 })
      if (only.length > 0) await sendParts(caller, parts, { only })
      expect(await errorOf(await complete(caller, parts))).toMatchObject({
        ...MISMATCH,
        message: expect.stringContaining(`${only.length} of the 3 parts`) as string,
      })
      expect(completed).not.toHaveBeenCalled()
      expect(await objects.findPending(parts.object)).toMatchObject({ id: parts.object.id })
    },
  )

  it('succeeds after the missing parts are uploaded', async () => {
    const caller = startService().as('user:1')
    const parts = await begun(caller, { size: PART + 1 })
    await sendParts(caller, parts, { only: [1] })
    expect((await complete(caller, parts)).status).toBe(409)
    await sendParts(caller, parts, { only: [2] })
    expect((await complete(caller, parts)).status).toBe(200)
  })

  it.each([
    ['a part of another size', [{ partNumber: 1, size: 2, eTag: 'x' }]],
    [
      'an extra part',
      [
        { partNumber: 1, size: 3, eTag: 'x' },
        { partNumber: 2, size: 0, eTag: 'y' },
      ],
    ],
    ['a wrong part number', [{ partNumber: 2, size: 3, eTag: 'x' }]],
  ])('refuses an upload with %s', async (_, stored) => {
    const completed = vi.fn()
    const storage = withMultipart(() => ({
      listParts: () => Promise.resolve({ parts: stored, next: null }),
      complete: completed,
    }))
    const { as, objects } = startService({ storage })
    const parts = await begun(as('user:1'))
    expect(await errorOf(await complete(as('user:1'), parts))).toMatchObject(MISMATCH)
    expect(completed).not.toHaveBeenCalled()
    expect(await objects.findPending(parts.object)).not.toBeNull()
  })

  it('reads all pages of parts', async () => {
    const storage = withMultipart((memory) => ({
      listParts: async (input) => {
        const page = await memory.listParts(input)
        const [first, ...more] = page?.parts ?? []
        return page && { parts: first ? [first] : [], next: more.length > 0 ? first!.partNumber : null }
      },
    }))
    const caller = startService({ storage }).as('user:1')
    expect(await uploaded(caller, { size: 2 * PART + 1 })).toMatchObject({ size: 2 * PART + 1 })
  })

  it('accepts an expired reservation until it is released', async () => {
    const { as, clock, objects } = startService()
    const [first, second] = [await begun(as('user:1')), await begun(as('user:1'))]
    for (const parts of [first, second]) await sendParts(as('user:1'), parts)
    clock.advance(DAY)
    expect((await complete(as('user:1'), first)).status).toBe(200)
    await objects.purgeExpired()
    expect((await errorOf(await complete(as('user:1'), second))).code).toBe('OBJECT_NOT_FOUND')
  })

  it('replaces an object atomically and leaves its bytes to cleanUp', async () => {
    const { as, objects } = startService({ routes: { docs: { key: () => 'report', overwrite: true } } })
    const caller = as('user:1')
    const first = await uploaded(caller, {}, 1)
    const parts = await begun(caller)
    await sendParts(caller, parts, { fill: 2 })
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 1))
    const { object } = (await expectStatus(await complete(caller, parts), 200)) as { object: { id: string } }
    expect(object.id).toBe(first.id)
    expect(await caller.bytes('report')).toEqual(bytesOfSize(3, 2))
    expect(await objects.listLeftovers()).toMatchObject([{ attemptId: first.id, uploadId: null }])
  })
})

describe('an interrupted completion', () => {
  it('succeeds on retry after the response of the bucket was lost', async () => {
    let lost = true
    const storage = withMultipart((memory) => ({
      complete: async (input) => {
        const done = await memory.complete(input)
        if (lost) throw new Error('timeout')
        return done
      },
    }))
    const caller = startService({ storage }).as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    expect((await errorOf(await complete(caller, parts))).code).toBe('STORAGE_UNAVAILABLE')
    lost = false
    expect((await complete(caller, parts)).status).toBe(200)
  })

  it('succeeds on retry after the database failed', async () => {
    const service = startService()
    const caller = service.as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    let failing = true
    around(
      service.objects,
      'confirm',
      (call) => (input) => (failing ? Promise.reject(new StorageError('DATABASE_UNAVAILABLE')) : call(input)),
    )
    expect((await complete(caller, parts)).status).toBe(503)
    failing = false
    expect((await complete(caller, parts)).status).toBe(200)
    expect(await caller.bytes(parts.object.key)).toEqual(bytesOfSize(3, 1))
  })

  it('keeps the reservation if the bucket has dropped the upload', async () => {
    const { as, objects, storage } = startService()
    const parts = await begun(as('user:1'))
    await sendParts(as('user:1'), parts)
    await storage.multipart!.abort({ bucket: 'files', key: parts.object.key, uploadId: parts.uploadId })
    expect(await errorOf(await complete(as('user:1'), parts))).toMatchObject(MISMATCH)
    expect(await objects.findPending(parts.object)).not.toBeNull()
    expect((await abort(as('user:1'), parts)).status).toBe(204)
  })

  it('releases the attempt and removes its bytes if they do not match the request', async () => {
    const { as, objects, storage } = startService({
      storage: (memory) => ({
        ...memory,
        head: async (at) => {
          const stored = await memory.head(at)
          return stored && { ...stored, size: 4 }
        },
      }),
    })
    const caller = as('user:1')
    const parts = await begun(caller)
    await sendParts(caller, parts)
    expect(await errorOf(await complete(caller, parts))).toMatchObject(MISMATCH)
    expect(await objects.countByScope('user:1')).toBe(0)
    expect(await storage.head({ bucket: 'files', key: parts.object.key })).toBeNull()
    expect((await complete(caller, parts)).status).toBe(404)
  })
})
