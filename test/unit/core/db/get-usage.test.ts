import { describe, expect, it } from 'vitest'
import { createStore, StorageError, type DbOptions } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { recordingDriver } from '../store/recording-driver.js'
import { errorOf, requester } from './db-requests.js'

const USAGE = '/api/s3/db/usage'
const owned = { scope: 'user:1', bucket: 'photos' }
const client = memoryAdapter({
  objects: [
    { ...owned, key: 'a', size: 5 },
    { ...owned, key: 'b', status: 'pending', declaredSize: 7 },
    { ...owned, key: 'c', scope: 'user:2', size: 11 },
  ],
})
const usage = { bytes: 5, files: 1, reservedBytes: 7, reservedFiles: 1 }

const ask = (options: Partial<DbOptions>) => requester(client, { usageEndpoint: true, ...options })(USAGE)

describe('GET /db/usage', () => {
  it('returns the usage of the caller', async () => {
    const response = await ask({})
    expect(response).toMatchObject({ status: 200, body: { usage, quota: {} } })
    expect(response.headers.get('cache-control')).toBe('private, no-store')
  })

  it.each<[DbOptions['quota'], object]>([
    [null, {}],
    [{}, {}],
    [{ maxBytes: null, maxFiles: undefined }, {}],
    [{ maxBytes: 0 }, { maxBytes: 0 }],
    [
      { maxBytes: 10, maxFiles: 2 },
      { maxBytes: 10, maxFiles: 2 },
    ],
    [() => null, {}],
    [async (scope) => ({ maxFiles: scope === 'user:1' ? 3 : 4 }), { maxFiles: 3 }],
  ])('returns the limits that there are: %o', async (quota, limits) => {
    expect((await ask({ quota })).body).toEqual({ usage, quota: limits })
  })

  it('fails if the quota function fails', async () => {
    const onError = () => undefined
    const failing = (error: Error) => () => {
      throw error
    }
    expect(errorOf(await ask({ onError, quota: failing(new Error('plans.internal')) })).code).toBe(
      'INTERNAL_ERROR',
    )
    expect(errorOf(await ask({ onError, quota: failing(new StorageError('FORBIDDEN')) })).code).toBe(
      'FORBIDDEN',
    )
    expect(errorOf(await ask({ onError, quota: () => undefined as never })).code).toBe('INTERNAL_ERROR')
  })

  it('requires a signed-in caller, and makes no store call without', async () => {
    const { driver, calls } = recordingDriver()
    const askEmpty = requester(createStore(driver), { usageEndpoint: true, mayRead: () => true })
    expect(errorOf(await askEmpty(USAGE, { user: null })).code).toBe('UNAUTHORIZED')
    expect(calls).toEqual([])
  })

  it.each([undefined, null, false])('does not exist with usageEndpoint: %s', async (usageEndpoint) => {
    expect(errorOf(await ask({ usageEndpoint })).code).toBe('NOT_FOUND')
  })
})
