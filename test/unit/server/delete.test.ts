import { StorageError } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../conformance/clock.js'
import { around, BASE, bytesOfSize, errorOf, expectStatus, startService } from './service.js'

const overwriting = { docs: { key: () => 'report', overwrite: true } }

describe('DELETE /object', () => {
  it('removes the row, then the bytes, and invalidates signed URLs', async () => {
    const { as, objects, storage } = startService()
    const caller = as('user:1')
    const object = await caller.upload()
    const { url } = (await expectStatus(await caller.download(object.key), 200)) as { url: string }
    const response = await caller.delete(object.key)
    expect([response.status, await response.text()]).toEqual([204, ''])

    expect(await objects.find(object)).toMatchObject({ status: 'deleted', size: 3 })
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ bytes: 0, files: 0 })
    expect(await storage.head({ bucket: 'files', key: object.key })).toBeNull()
    expect((await caller.handler(new Request(url))).status).toBe(404)
    expect(await errorOf(await caller.delete(object.key))).toMatchObject({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
    })
  })

  it('removes the row before the bytes', async () => {
    const statuses: unknown[] = []
    const { as, objects } = startService({
      storage: (memory) => ({
        ...memory,
        async remove(at) {
          statuses.push((await objects.find(at))?.status)
          return memory.remove(at)
        },
      }),
    })
    const { key } = await as('user:1').upload()
    await as('user:1').delete(key)
    expect(statuses).toEqual(['deleted'])
  })

  it('completes if the client disconnects', async () => {
    const abort = new AbortController()
    const { as, s3, storage, reported } = startService({ hooks: { onDeleted: () => abort.abort() } })
    const { key } = await as('user:1').upload()
    const request = as('user:1').request('DELETE', `/object?key=${encodeURIComponent(key)}`)
    expect((await s3.handler(new Request(request, { signal: abort.signal }))).status).toBe(204)
    expect(await storage.head({ bucket: 'files', key })).toBeNull()
    expect(reported).toEqual([])
  })

  it('keeps no history with deleteMode: hard', async () => {
    const { as, objects } = startService({ deleteMode: 'hard' })
    const object = await as('user:1').upload()
    expect((await as('user:1').delete(object.key)).status).toBe(204)
    expect(await objects.find(object)).toBeNull()
  })

  it('deletes a pending upload', async () => {
    const deleted: unknown[] = []
    const { as, objects, storage } = startService({ hooks: { onDeleted: (event) => deleted.push(event) } })
    const { object, upload } = await as('user:1').begun()
    await as('user:1').put(upload, bytesOfSize(3))
    expect((await as('user:1').delete(object.key)).status).toBe(204)
    expect(await objects.find(object)).toBeNull()
    expect(await storage.head({ bucket: 'files', key: object.key })).toBeNull()
    expect(deleted).toEqual([])
  })

  it('also deletes the replacement in progress', async () => {
    const { as, objects, storage } = startService({ routes: overwriting })
    const caller = as('user:1')
    await caller.upload()
    const { object, upload } = await caller.begun()
    await caller.put(upload, bytesOfSize(3))
    const { storageKey } = (await objects.findPending(object))!
    expect((await caller.delete('report')).status).toBe(204)
    expect(await objects.countByScope('user:1')).toBe(0)
    expect((await caller.confirm(object)).status).toBe(404)
    // Its URL may still be in use, so its bytes are left to cleanUp.
    expect(await storage.head({ bucket: 'files', key: storageKey! })).not.toBeNull()
    expect(await objects.listLeftovers()).toHaveLength(2)
  })

  it('succeeds if the storage fails, reports the error, and leaves the bytes to cleanUp', async () => {
    const { as, objects, reportedBy } = startService({
      storage: (memory) => ({ ...memory, remove: () => Promise.reject(new Error('timeout')) }),
    })
    const object = await as('user:1').upload()
    expect((await as('user:1').delete(object.key)).status).toBe(204)
    expect(await objects.findActive(object)).toBeNull()
    expect(await reportedBy('delete')).toMatchObject([
      { code: 'STORAGE_UNAVAILABLE', cause: { message: 'timeout' } },
    ])
    expect(await objects.listLeftovers()).toMatchObject([{ storageKey: object.key }])
  })

  it('removes only the row of an object without storageKey', async () => {
    const removed: string[] = []
    const { as, objects, clock } = startService({
      storage: (memory) => ({
        ...memory,
        async remove({ key }) {
          removed.push(key)
        },
      }),
    })
    const row = { bucket: 'files', key: 'own/file' }
    await objects.reserve({ ...row, scope: 'user:1', declaredSize: 1, expiresAt: clock.in(SECOND) })
    await objects.confirm({ ...row, size: 1 })
    expect((await as('user:1').delete('own/file')).status).toBe(204)
    expect(await objects.findActive(row)).toBeNull()
    expect(removed).toEqual([])
  })

  it('returns OBJECT_NOT_FOUND if the object was deleted concurrently', async () => {
    const { as, objects } = startService()
    const object = await as('user:1').upload()
    around(objects, 'find', (find) => async (reference) => {
      const row = await find(reference)
      await objects.remove(reference)
      return row
    })
    expect((await as('user:1').delete(object.key)).status).toBe(404)
  })

  it.each([
    [
      'leaves the bytes of an object that s3.db.reserve recorded without a storage key to the application',
      null,
    ],
    ['removes the bytes of an object that s3.db.reserve recorded with a storage key', 'imports/1~first'],
  ])('%s', async (_, storageKey) => {
    const { as, objects, s3, storage } = startService()
    const request = as('user:1').request('POST', '/import')
    const key = 'imports/1'
    const { id } = await s3.db.reserve(request, { key, declaredSize: 3, storageKey })
    const at = { bucket: 'files', key: storageKey ?? key }
    const terms = { ...at, size: 3, contentType: 'text/plain', attemptId: id, serverURL: `${BASE}/_storage` }
    const upload = await storage.signUpload({ ...terms, expiresAt: new Date(Date.UTC(2100, 0)) })
    await expectStatus(await as('user:1').put({ ...upload, expiresAt: '' }, bytesOfSize(3)), 200)
    await s3.db.confirm(request, { key, id, size: 3 })

    expect((await as('user:1').delete(key)).status).toBe(204)
    expect(await objects.find({ bucket: 'files', key })).toMatchObject({ status: 'deleted' })
    expect((await storage.head(at))?.size).toBe(storageKey === null ? 3 : undefined)
    expect((await objects.listLeftovers()).length).toBe(storageKey === null ? 0 : 1)
  })

  it('runs its guard after the ownership check and before the delete', async () => {
    const seen: unknown[] = []
    const { as, objects } = startService({
      delete: {
        guard: ({ object, size, route }) => {
          seen.push([object?.status, size, route])
          throw new StorageError('FORBIDDEN')
        },
      },
    })
    const active = await as('user:1').upload()
    const pending = (await as('user:1').begun({ size: 9 })).object
    expect((await as('user:1').delete(active.key)).status).toBe(403)
    expect((await as('user:1').delete(pending.key)).status).toBe(403)
    const gone = await as('user:1').upload()
    await objects.remove(gone)
    expect((await as('user:1').delete(gone.key)).status).toBe(404)
    expect((await as('user:2').delete(active.key)).status).toBe(404)
    expect((await as(null).delete(active.key)).status).toBe(401)
    expect(seen).toEqual([
      ['active', 3, 'default'],
      ['pending', 9, 'default'],
    ])
    expect(await objects.countByScope('user:1')).toBe(2)
  })

  it('frees the key for every scope', async () => {
    const { as } = startService({ routes: overwriting })
    await as('user:1').upload()
    await as('user:1').delete('report')
    expect(await as('user:2').upload({}, 2)).toMatchObject({ key: 'report', status: 'active' })
    expect((await as('user:1').download('report')).status).toBe(404)
    expect(await as('user:2').bytes('report')).toEqual(bytesOfSize(3, 2))
  })
})
