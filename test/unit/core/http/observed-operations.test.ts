import { describe, expect, it } from 'vitest'
import { db, StorageError, type OperationObserver, type OperationResult } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { contextsOfTest } from '../../contexts-of-test.js'
import { BASE, startService } from '../../server/service.js'

/** An observer that records the operations. */
function noting() {
  const seen: ({ operation: string } & OperationResult)[] = []
  const onOperation: OperationObserver = async ({ operation }, run) => {
    seen.push({ operation, ...(await run()) })
  }
  return { seen, onOperation }
}

describe('onOperation', () => {
  it('gets each operation with its scope, route, status and error', async () => {
    const { seen, onOperation } = noting()
    const service = startService({
      onOperation,
      routes: { texts: { maxFileSize: 5 }, films: {} },
      quota: { maxBytes: 50 },
    })
    const [ann, bob] = [service.as('user:ann'), service.as('user:bob')]
    const object = await ann.upload({ route: 'films' })
    await ann.begin({ route: 'texts', size: 6 })
    await ann.begin({ route: 'films', size: 60 })
    await ann.begin({ route: 'none' })
    await ann.send('POST', '/multipart', { route: 'texts', filename: 'a', contentType: 'a/b', size: 6 })
    for (const other of [ann, bob]) await other.send('GET', `/download?key=${object.key}`)
    await ann.send('GET', `/db/object?key=${object.key}`)
    await ann.send('HEAD', '/db/objects?route=films')
    await service.as(null).send('GET', '/db/objects')
    const reported = seen.map(({ operation, scope, route, status, error }) => {
      return [operation, scope, route, status, error?.code ?? null]
    })
    expect(reported).toEqual([
      ['upload', 'user:ann', 'films', 201, null],
      ['storage', null, null, 200, null],
      ['upload.confirm', 'user:ann', 'films', 200, null],
      ['upload', 'user:ann', 'texts', 413, 'FILE_TOO_LARGE'],
      ['upload', 'user:ann', 'films', 413, 'QUOTA_EXCEEDED'],
      ['upload', 'user:ann', null, 400, 'VALIDATION_ERROR'],
      ['multipart', 'user:ann', 'texts', 413, 'FILE_TOO_LARGE'],
      ['download', 'user:ann', 'films', 200, null],
      ['download', 'user:bob', null, 404, 'OBJECT_NOT_FOUND'],
      ['db.getObject', 'user:ann', 'films', 200, null],
      ['db.listObjects', 'user:ann', null, 200, null],
      ['db.listObjects', null, null, 401, 'UNAUTHORIZED'],
    ])
  })

  it('is not called for requests that are not operations', async () => {
    const { seen, onOperation } = noting()
    const ann = startService({ onOperation }).as('user:ann')
    expect((await ann.send('GET', '/nothing')).status).toBe(404)
    expect((await ann.send('PUT', '/upload')).status).toBe(405)
    expect(seen).toEqual([])
  })

  it('sets the context of the operation: guards, hooks and onError run in it', async () => {
    const context = contextsOfTest()
    const within: [string, string | undefined][] = []
    const note = (what: string) => within.push([what, context.getStore()])
    const service = startService({
      onOperation: ({ operation }, run) => context.run(operation, run),
      upload: { guard: () => note('guard') },
      hooks: {
        onReserved: () => {
          note('hook')
          throw new Error('broken')
        },
      },
    })
    await service.as('user:ann').begun()
    await service.reportedBy('onReserved')
    expect(within).toEqual([
      ['guard', 'upload'],
      ['hook', 'upload'],
    ])
  })

  it.each<[string, OperationObserver]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('broken'))],
    [
      'rejects afterwards',
      async (_, run) => {
        await run()
        throw new Error('broken')
      },
    ],
  ])("that %s doesn't affect the client, and is reported", async (_, onOperation) => {
    const service = startService({ onOperation })
    expect((await service.as('user:ann').send('GET', '/db/objects')).status).toBe(200)
    await expect.poll(() => service.reportedBy('onOperation')).toMatchObject([{ message: 'broken' }])
  })

  it("that never runs it, runs it twice or hangs doesn't affect the client", async () => {
    const observers: OperationObserver[] = [
      () => undefined,
      () => new Promise(() => undefined),
      (_, run) => Promise.all([run(), run()]),
    ]
    for (const onOperation of observers) {
      const { as, objects } = startService({ onOperation })
      expect((await as('user:ann').begin()).status).toBe(201)
      expect(await objects.countByScope('user:ann')).toBe(1)
    }
  })

  it('also observes a standalone db()', async () => {
    const { seen, onOperation } = noting()
    const resolveScope = () => {
      throw new StorageError('FORBIDDEN')
    }
    const { handler } = db({ client: memoryAdapter(), resolveScope, onOperation })
    expect((await handler(new Request(`${BASE}/db/objects`))).status).toBe(403)
    expect(seen).toMatchObject([{ operation: 'db.listObjects', status: 403, error: { code: 'FORBIDDEN' } }])
  })

  it('must be a function', () => {
    const wrong = 'trace' as unknown as OperationObserver
    expect(() => startService({ onOperation: wrong })).toThrow(TypeError)
    expect(() => db({ client: memoryAdapter(), resolveScope: () => null, onOperation: wrong })).toThrow(
      /onOperation/,
    )
  })
})
