import { afterEach, describe, expect, it, vi } from 'vitest'
import { db, StorageError, type DbOptions } from '@svc/db'
import { createStore, type DbContext, type StoreDriver } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { requester, errorOf, requestOf, resolveUser } from './db-requests.js'

// The HTTP table tests what clients get. This is what `onError` and the callers of the writes get.

const request = requestOf('user:1', '/')
const unavailable = new StorageError('DATABASE_UNAVAILABLE', {
  message: 'The schema at db-1.internal is missing: run migrate().',
  cause: new Error('connect ECONNREFUSED 10.0.0.7:5432'),
})
const broken = new TypeError("Cannot read properties of undefined (reading 'rows')")

/** Options with a store whose driver rejects every call. */
function failing(error: Error, options: Partial<DbOptions> = {}): DbOptions {
  const driver = new Proxy({} as StoreDriver, { get: () => () => Promise.reject(error) })
  return { client: createStore(driver), resolveScope: resolveUser, bucket: 'b', ...options }
}

const WRITES: readonly [operation: string, (files: DbContext) => Promise<unknown>][] = [
  ['db.reserve', (files) => files.reserve(request, { key: 'a', declaredSize: 5 })],
  ['db.confirm', (files) => files.confirm(request, { key: 'a', size: 5 })],
  ['db.release', (files) => files.release(request, { key: 'a' })],
  ['db.remove', (files) => files.remove(request, { key: 'a' })],
]

afterEach(() => {
  vi.restoreAllMocks()
})

describe('onError', () => {
  it.each(WRITES)('gets the error and the operation of %s, which rejects', async (operation, write) => {
    const onError = vi.fn()
    await expect(write(db(failing(unavailable, { onError })))).rejects.toBe(unavailable)
    const internal = { code: 'INTERNAL_ERROR', cause: broken }
    await expect(write(db(failing(broken, { onError })))).rejects.toMatchObject(internal)
    const context = { request, operation }
    expect(onError.mock.calls).toEqual([
      [unavailable, context],
      [broken, context],
    ])
  })

  it.each([
    ['db.listObjects', '/api/s3/db/objects'],
    ['db.getObject', '/api/s3/db/object?key=a'],
  ])('gets the error of %s, of which clients get no details', async (operation, path) => {
    const onError = vi.fn()
    for (const error of [unavailable, broken]) {
      const { client } = failing(error)
      const response = await requester(client, { onError })(path)
      const { code, status } = error instanceof StorageError ? error : new StorageError('INTERNAL_ERROR')
      expect(response.status).toBe(status)
      expect(response.body).toStrictEqual({ code, message: new StorageError(code).message })
      const context = { request: expect.any(Request) as Request, operation }
      expect(onError.mock.lastCall).toEqual([error, context])
    }
    expect(onError).toHaveBeenCalledTimes(2)
  })

  it.each<[string, DbOptions['resolveScope'], RegExp]>([
    ['throws', () => Promise.reject(new Error('the session store is down')), /session store/],
    ['returns a number', () => 42 as never, /scope must be a string/],
    ['returns an empty string', () => '', /scope must be a string/],
  ])('gets the reason if resolveScope %s', async (_what, resolveScope, reason) => {
    const onError = vi.fn()
    const ask = requester(memoryAdapter(), { resolveScope, onError })
    expect(errorOf(await ask('/api/s3/db/objects')).code).toBe('INTERNAL_ERROR')
    expect(onError.mock.calls.map(([error]) => (error as Error).message)).toEqual([
      expect.stringMatching(reason) as string,
    ])
  })

  it('gets no client errors, and no StorageError below 500 that resolveScope throws', async () => {
    const onError = vi.fn()
    const client = memoryAdapter()
    const ask = requester(client, { onError })
    await ask('/api/s3/db/objects?limit=0')
    await ask('/api/s3/db/objects', { user: null })
    const files = db({ client, resolveScope: resolveUser, bucket: 'b', onError })
    await expect(files.confirm(request, { key: 'a', size: 5 })).rejects.toMatchObject({ status: 404 })
    const suspended = new StorageError('FORBIDDEN', { message: 'Suspended.', params: { until: '2027' } })
    const resolveScope = () => Promise.reject(suspended)
    const response = await requester(client, { resolveScope, onError })('/api/s3/db/objects')
    expect(errorOf(response)).toEqual({ code: 'FORBIDDEN', message: 'Suspended.', params: { until: '2027' } })
    expect(onError).not.toHaveBeenCalled()
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('logger is down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('logger is down'))],
  ])('that %s changes no response', async (_how, onError) => {
    expect(await requester(failing(unavailable).client, { onError })('/api/s3/db/objects')).toMatchObject({
      status: 503,
    })
  })
})
