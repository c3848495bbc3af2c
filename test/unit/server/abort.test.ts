import { describe, expect, it } from 'vitest'
import { around, bytesOfSize, errorOf, startService } from './service.js'

describe('POST /upload/abort', () => {
  it('ends the upload, frees its quota, and leaves its bytes to cleanUp', async () => {
    const { as, objects, storage } = startService()
    const { object, upload } = await as('user:1').begun()
    await as('user:1').put(upload, bytesOfSize(3))
    const response = await as('user:1').abort(object)
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('cache-control')).toBe('private, no-store')

    expect(await objects.find(object)).toBeNull()
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ reservedBytes: 0, reservedFiles: 0 })
    expect(await storage.head({ bucket: 'files', key: object.key })).not.toBeNull()
    expect(await objects.listLeftovers()).toMatchObject([{ attemptId: object.id, storageKey: object.key }])
  })

  it('returns OBJECT_NOT_FOUND for a second abort and after a confirm', async () => {
    const { as } = startService()
    const { object } = await as('user:1').begun()
    expect((await as('user:1').abort(object)).status).toBe(204)
    expect(await errorOf(await as('user:1').abort(object))).toMatchObject({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
    })
    const active = await as('user:1').upload()
    expect((await as('user:1').abort(active)).status).toBe(404)
    expect((await as('user:1').download(active.key)).status).toBe(200)
  })

  it('returns OBJECT_NOT_FOUND if the upload ended concurrently', async () => {
    const { as, objects } = startService()
    const { object } = await as('user:1').begun()
    around(objects, 'findPending', (findPending) => async (input) => {
      const row = await findPending(input)
      await objects.release(input)
      return row
    })
    expect((await as('user:1').abort(object)).status).toBe(404)
  })

  it('does not abort a newer attempt', async () => {
    const { as, objects } = startService({ routes: { docs: { key: () => 'report' } } })
    const first = await as('user:1').begun()
    const second = await as('user:1').begun()
    expect((await as('user:1').abort(first.object)).status).toBe(404)
    expect(await objects.findPending(second.object)).toMatchObject({ id: second.object.id })
  })
})
