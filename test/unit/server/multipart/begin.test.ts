import { cleanUp, StorageError } from '@svc/db'
import { describe, expect, it, vi } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { around, BUCKET, errorOf, startService } from '../service.js'
import { begin, begun, complete, PART, sendParts, withMultipart, type Parts } from './in-parts.js'

const DAY = 24 * HOUR

describe('POST /multipart', () => {
  it('reserves the upload, creates it in the bucket under its storage key, and returns the ids', async () => {
    const { as, objects, storage, clock } = startService({ routes: { docs: { key: () => 'report' } } })
    const response = await begun(as('user:1'), { size: PART + 1 })
    expect(response).toEqual({
      object: {
        id: expect.any(String) as string,
        ...{ bucket: BUCKET, key: 'report', status: 'pending', createdAt: clock.now().toISOString() },
        ...{ filename: 'a.txt', contentType: 'text/plain', declaredSize: PART + 1, route: 'docs' },
      },
      uploadId: expect.any(String) as string,
      partSize: PART,
    })
    const { object, uploadId } = response
    const storageKey = `report~${object.id}`
    const expected = { id: object.id, uploadId, storageKey, expiresAt: clock.in(DAY) }
    expect(await objects.findPending(object)).toMatchObject(expected)
    expect(await storage.multipart!.list({ bucket: BUCKET, key: storageKey })).toEqual([uploadId])
    expect(await storage.multipart!.list({ bucket: BUCKET, key: 'report' })).toEqual([])
  })

  it('creates no upload in the bucket if the reservation is refused', async () => {
    const create = vi.fn()
    const storage = withMultipart(() => ({ create }))
    const caller = startService({ storage, quota: { maxBytes: 2 } }).as('user:1')
    expect((await errorOf(await begin(caller))).code).toBe('QUOTA_EXCEEDED')
    expect(create).not.toHaveBeenCalled()
  })
})

describe('a multipart upload that cannot be started', () => {
  it.each([false, true])(
    'ends as a leftover if the database fails (its id was written: %s)',
    async (isWritten) => {
      const service = startService()
      const { objects, storage } = service
      around(objects, 'setUploadId', (call) => async (input) => {
        if (isWritten) await call(input)
        throw new StorageError('DATABASE_UNAVAILABLE')
      })
      expect((await begin(service.as('user:1'))).status).toBe(503)
      expect(await objects.countByScope('user:1')).toBe(0)
      const [leftover] = await objects.listLeftovers()
      const at = { bucket: BUCKET, key: leftover!.storageKey! }
      expect(await storage.multipart!.list(at)).toHaveLength(1)
      await cleanUp(service.s3)
      expect(await storage.multipart!.list(at)).toEqual([])
    },
  )

  it('is a 404 if another attempt has replaced it', async () => {
    let second: Parts | null = null
    let displaces = true
    const storage = withMultipart((memory) => ({
      create: async (input) => {
        const created = await memory.create(input)
        if (displaces) {
          displaces = false
          second = await begun(caller)
        }
        return created
      },
    }))
    const caller = startService({ storage, routes: { docs: { key: () => 'report' } } }).as('user:1')
    expect(await errorOf(await begin(caller))).toMatchObject({ status: 404, code: 'OBJECT_NOT_FOUND' })
    await sendParts(caller, second!)
    expect((await complete(caller, second!)).status).toBe(200)
  })
})
