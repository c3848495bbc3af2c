import { StorageError, type Guard, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { around, BASE, bytesOfSize, errorOf, expectStatus, startService } from './service.js'

const overwriting = { docs: { key: () => 'report', overwrite: true } }

describe('DELETE /object', () => {
  it('removes the row, calls the hook, then removes the bytes, even if the client disconnects', async () => {
    const disconnect = new AbortController()
    const steps: unknown[] = []
    const failure = new Error('mail server down')
    const { as, s3, objects, storage, reported } = startService({
      storage: (memory) => ({
        ...memory,
        async remove(at) {
          const { bucket, key } = at
          steps.push(['bytes', (await objects.find({ bucket, key }))?.status])
          return memory.remove(at)
        },
      }),
      hooks: {
        async onDeleted({ object, request }) {
          steps.push(['hook', object, await objects.find(object), new URL(request!.url).pathname])
          disconnect.abort()
          throw failure
        },
      },
    })
    const { key } = await as('user:1').upload()
    const request = as('user:1').request('DELETE', `/object?key=${encodeURIComponent(key)}`)
    expect((await s3.handler(new Request(request, { signal: disconnect.signal }))).status).toBe(204)
    expect(await storage.head({ bucket: 'files', key })).toBeNull()
    const row = await objects.find({ bucket: 'files', key })
    expect(row).toMatchObject({ status: 'deleted', size: 3 })
    expect(steps).toEqual([
      ['hook', row, row, '/api/s3/object'],
      ['bytes', 'deleted'],
    ])
    expect(reported).toMatchObject([{ error: failure, operation: 'onDeleted' }])
  })

  it.each([
    ['no key', '', 'key'],
    ['an empty key', 'key=', 'key'],
    ['two keys', 'key=a&key=b', 'key'],
    ['a key of 1025 bytes', `key=${'x'.repeat(1025)}`, 'key'],
    ['a key that is not UTF-8', 'key=%ff', 'key'],
    ['an empty bucket', 'key=a&bucket=', 'bucket'],
    ['two buckets', 'key=a&bucket=b&bucket=b', 'bucket'],
  ])('refuses %s, as GET /download does', async (_, query, field) => {
    const caller = startService().as('user:1')
    for (const request of [
      ['GET', '/download'],
      ['DELETE', '/object'],
    ] as const) {
      const error = { status: 400, code: 'VALIDATION_ERROR', params: { field } }
      expect(await errorOf(await caller.send(request[0], `${request[1]}?${query}`))).toMatchObject(error)
    }
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

  describe('while the object is replaced', () => {
    const guard: Guard = ({ object }) => {
      if (object?.metadata?.['locked'] === 'yes') throw new StorageError('FORBIDDEN')
    }

    /** A service whose object is replaced just before each of its first removals, with this metadata. */
    async function replacedBeforeRemove(
      times: number,
      metadata: object = {},
      store = (now: () => Date): StorageObjectStore => memoryAdapter({ now }),
    ) {
      const clock = new ManualClock()
      const judged: (string | undefined)[] = []
      const service = startService({
        routes: overwriting,
        clock,
        objects: store(clock.now),
        delete: {
          guard: (context) => {
            judged.push(context.object?.attemptId)
            return guard(context)
          },
        },
      })
      const first = await service.as('user:1').upload()
      let left = times
      around(service.objects, 'remove', (remove) => async (input) => {
        if (left-- > 0) await service.as('user:1').upload({ metadata }, 2)
        return remove(input)
      })
      return { ...service, judged, first }
    }

    it('asks the guard about the replacement, which it can keep', async () => {
      const service = await replacedBeforeRemove(1, { locked: 'yes' })
      expect((await service.as('user:1').delete('report')).status).toBe(403)
      const kept = await service.objects.findActive({ bucket: 'files', key: 'report' })
      expect(service.judged).toEqual([service.first.id, kept?.attemptId])
      expect(await service.as('user:1').bytes('report')).toEqual(bytesOfSize(3, 2))
    })

    it('removes the replacement if the guard allows that too', async () => {
      const deleted: unknown[] = []
      const service = await replacedBeforeRemove(2)
      around(service.objects, 'remove', (remove) => async (input) => {
        const row = await remove(input)
        if (row) deleted.push(row.attemptId)
        return row
      })
      expect((await service.as('user:1').delete('report')).status).toBe(204)
      expect(service.judged.length).toBe(3)
      expect(deleted).toEqual([service.judged.at(-1)])
      expect((await service.as('user:1').delete('report')).status).toBe(404)
    })

    it('gives up if the object is replaced again and again', async () => {
      const service = await replacedBeforeRemove(Infinity)
      expect(await errorOf(await service.as('user:1').delete('report'))).toMatchObject({
        status: 409,
        code: 'KEY_CONFLICT',
      })
      expect(service.judged.length).toBe(5)
      expect(await service.objects.countByScope('user:1', 'active')).toBe(1)
    })
  })

  it('keeps a pending replacement that began after its ownership check', async () => {
    const service = startService({ routes: overwriting })
    const { object } = await service.as('user:1').begun()
    around(service.objects, 'remove', (remove) => async (input) => {
      if (input.attemptId === object.id) await service.as('user:1').upload()
      return remove(input)
    })
    expect((await service.as('user:1').delete('report')).status).toBe(204)
    expect((await service.as('user:1').delete('report')).status).toBe(404)
  })
})
