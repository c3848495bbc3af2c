import { afterEach, describe, expect, it, vi } from 'vitest'
import { createStore, db, StorageError, type DbOptions } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { failingDriver } from '../store/recording-driver.js'
import { requester, errorOf, requestOf, resolveUser } from './db-requests.js'

const PATHS = ['/api/s3/db/objects', '/api/s3/db/object?key=a']
const unavailable = new StorageError('DATABASE_UNAVAILABLE', {
  message: 'The schema at db-1.internal is missing: run migrate().',
  cause: new Error('connect ECONNREFUSED 10.0.0.7:5432'),
})

afterEach(() => {
  vi.restoreAllMocks()
})

describe('if the database is unreachable', () => {
  const client = createStore(failingDriver(unavailable))

  it.each(PATHS)('%s returns 503 with Retry-After and no internal details', async (path) => {
    const onError = vi.fn()
    const response = await requester(client, { onError })(path)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    expect(response.body).toStrictEqual({
      code: 'DATABASE_UNAVAILABLE',
      message: new StorageError('DATABASE_UNAVAILABLE').message,
    })
    expect(onError).toHaveBeenCalledTimes(1)
    expect(onError.mock.calls[0]![0]).toBe(unavailable)
  })

  it('writes reject with the error, and onError gets the operation', async () => {
    const onError = vi.fn()
    const files = db({
      client,
      resolveScope: resolveUser,
      bucket: 'b',
      onError,
    })
    const request = requestOf('user:1', '/')
    await expect(files.reserve(request, { key: 'a', declaredSize: 5 })).rejects.toBe(unavailable)
    await expect(files.confirm(request, { key: 'a', size: 5 })).rejects.toBe(unavailable)
    await expect(files.release(request, { key: 'a' })).rejects.toBe(unavailable)
    await expect(files.remove(request, { key: 'a' })).rejects.toBe(unavailable)
    expect(onError.mock.calls).toEqual(
      ['db.reserve', 'db.confirm', 'db.release', 'db.remove'].map((operation) => [
        unavailable,
        { request, operation },
      ]),
    )
  })
})

describe('if something is broken', () => {
  const broken = new TypeError(
    "Cannot read properties of undefined (reading 'rows') at SELECT * FROM objects",
  )
  const client = createStore(failingDriver(broken))

  it.each(PATHS)('%s returns 500 without details, and onError gets the error', async (path) => {
    const onError = vi.fn()
    const response = await requester(client, { onError })(path)
    expect(response.status).toBe(500)
    expect(response.body).toStrictEqual({
      code: 'INTERNAL_ERROR',
      message: new StorageError('INTERNAL_ERROR').message,
    })
    const operation = path.includes('objects') ? 'db.listObjects' : 'db.getObject'
    expect(onError.mock.calls).toEqual([[broken, { request: expect.any(Request) as Request, operation }]])
  })

  it('writes reject with INTERNAL_ERROR and the error as its cause', async () => {
    const files = db({ client, resolveScope: resolveUser, bucket: 'b', onError: () => undefined })
    await expect(files.release(requestOf('user:1', '/'), { key: 'a' })).rejects.toMatchObject({
      code: 'INTERNAL_ERROR',
      cause: broken,
    })
  })
})

describe('if resolveScope', () => {
  const client = memoryAdapter()
  const thrown = new Error('session store at 10.0.0.7 is down')

  it.each<[string, DbOptions['resolveScope'], string | RegExp]>([
    ['throws', () => Promise.reject(thrown), thrown.message],
    ['returns a number', () => 42 as never, /scope must be a string/],
    ['returns an empty string', () => '', /scope must be a string/],
  ])('%s, the client gets no details and onError gets the reason', async (_what, resolveScope, why) => {
    const onError = vi.fn()
    const ask = requester(client, { resolveScope, onError })
    for (const path of PATHS) {
      const response = await ask(path)
      expect(response.status).toBe(500)
      expect(response.body).toEqual({
        code: 'INTERNAL_ERROR',
        message: new StorageError('INTERNAL_ERROR').message,
      })
    }
    expect(onError).toHaveBeenCalledTimes(2)
    expect((onError.mock.calls[0]![0] as Error).message).toMatch(why)
  })

  it('throws a StorageError, the response has its code', async () => {
    const onError = vi.fn()
    const suspended = new StorageError('FORBIDDEN', { message: 'Suspended.', params: { until: '2027' } })
    const response = await requester(client, { resolveScope: () => Promise.reject(suspended), onError })(
      PATHS[0]!,
    )
    expect(response.status).toBe(403)
    expect(errorOf(response)).toEqual({ code: 'FORBIDDEN', message: 'Suspended.', params: { until: '2027' } })
    expect(onError).not.toHaveBeenCalled()
  })
})

describe('onError', () => {
  it('is not called for client errors', async () => {
    const onError = vi.fn()
    const ask = requester(memoryAdapter(), { onError })
    await ask('/api/s3/db/objects?limit=0')
    await ask('/api/s3/db/object?key=missing')
    await ask('/api/s3/db/objects', { user: null })
    await ask('/api/s3/db/objects', { method: 'POST' })
    const files = db({ client: memoryAdapter(), resolveScope: resolveUser, bucket: 'b', onError })
    await expect(files.confirm(requestOf('user:1', '/'), { key: 'a', size: 5 })).rejects.toMatchObject({
      status: 404,
    })
    expect(onError).not.toHaveBeenCalled()
  })

  it('defaults to console.error', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    await requester(createStore(failingDriver(unavailable)))('/api/s3/db/objects')
    expect(print).toHaveBeenCalledTimes(1)
    expect(print.mock.calls[0]).toContain(unavailable)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('logger is down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('logger is down'))],
  ])('that %s does not change the response', async (_how, onError) => {
    const response = await requester(createStore(failingDriver(unavailable)), { onError })(
      '/api/s3/db/objects',
    )
    expect(response.status).toBe(503)
    const failing = () => Promise.reject(new Error('hook'))
    const files = db({
      client: memoryAdapter(),
      resolveScope: resolveUser,
      bucket: 'b',
      onError,
      hooks: { onReserved: failing },
    })
    const row = await files.reserve(requestOf('user:1', '/'), { key: 'a', declaredSize: 5 })
    expect(row).toMatchObject({ status: 'pending' })
  })
})
