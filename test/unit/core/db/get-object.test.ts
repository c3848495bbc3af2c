import { describe, expect, it } from 'vitest'
import { createStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { recordingDriver } from '../store/recording-driver.js'
import { requester, errorOf } from './db-requests.js'

const GET = '/api/s3/db/object'
const owned = { scope: 'user:1', bucket: 'photos' }

const client = memoryAdapter({
  now: () => NOON,
  objects: [
    { ...owned, key: 'active', id: idNumber(1), size: 7, metadata: { secret: 'a' }, storageKey: 'stored/1' },
    { ...owned, key: 'pending', id: idNumber(2), status: 'pending', declaredSize: 5, uploadId: 'upload' },
    { ...owned, key: 'replaced', id: idNumber(3), size: 1 },
    { ...owned, key: 'replaced', id: idNumber(4), status: 'pending', declaredSize: 2 },
    { ...owned, key: 'deleted', id: idNumber(5), status: 'deleted' },
    { ...owned, key: 'other', id: idNumber(6), scope: 'user:2' },
    { ...owned, key: 'other pending', id: idNumber(7), scope: 'user:2', status: 'pending' },
    { ...owned, key: 'a b/ü+&=?#%', id: idNumber(8) },
    { ...owned, bucket: 'videos', key: 'active', id: idNumber(9) },
  ],
})

describe('GET /db/object', () => {
  const ask = requester(client)
  const idOf = async (query: string) => {
    const { status, body } = await ask(GET + query)
    expect(status).toBe(200)
    return (body as { object: { id: string } }).object.id
  }

  it('returns the active object with client fields only', async () => {
    const response = await ask(`${GET}?key=active`)
    expect(response.status).toBe(200)
    expect(response.body).toStrictEqual({
      object: {
        id: idNumber(1),
        bucket: 'photos',
        key: 'active',
        status: 'active',
        createdAt: NOON.toISOString(),
        size: 7,
      },
    })
  })

  it('returns the pending object if there is no active one', async () => {
    expect(await idOf('?key=pending')).toBe(idNumber(2))
    expect(await idOf('?key=replaced')).toBe(idNumber(3))
  })

  it('uses the given bucket, else that of the plugin', async () => {
    expect(await idOf('?key=active&bucket=photos')).toBe(idNumber(1))
    expect(await idOf('?key=active&bucket=videos')).toBe(idNumber(9))
    expect((await ask(`${GET}?key=active&bucket=unknown`)).status).toBe(404)
  })

  it('finds live objects by id, in any bucket', async () => {
    for (const number of [1, 2, 3, 4, 9]) {
      expect(await idOf(`?id=${idNumber(number)}`)).toBe(idNumber(number))
    }
  })

  it.each([5, 6, 7, 99])(
    "returns the same 404 for the ids of deleted, missing and other scopes' objects: %i",
    async (number) => {
      const missing = await ask(`${GET}?key=never%20was`)
      const response = await ask(`${GET}?id=${idNumber(number)}`)
      expect(response.status).toBe(404)
      expect(response.body).toEqual(missing.body)
    },
  )

  it('accepts any percent-encoded key', async () => {
    expect(await idOf(`?key=${encodeURIComponent('a b/ü+&=?#%')}`)).toBe(idNumber(8))
  })

  it.each(['other', 'other pending', 'deleted', 'missing'])(
    "returns the same 404 for deleted, missing and other scopes' objects: %s",
    async (key) => {
      const missing = await ask(`${GET}?key=never%20was`)
      const response = await ask(`${GET}?key=${encodeURIComponent(key)}`)
      expect(response.status).toBe(404)
      expect(response.body).toEqual(missing.body)
      expect(errorOf(response)).toEqual({ code: 'OBJECT_NOT_FOUND', message: 'The object does not exist.' })
      expect([...response.headers]).toEqual([...missing.headers])
    },
  )

  it.each([
    ['no key', '', 'key'],
    ['both a key and an id', `?key=active&id=${idNumber(1)}`, 'key'],
    ['an id with a bucket', `?id=${idNumber(1)}&bucket=photos`, 'bucket'],
    ['an empty id', '?id=', 'id'],
    ['an id that is no UUIDv7', '?id=1', 'id'],
    ['two ids', `?id=${idNumber(1)}&id=${idNumber(1)}`, 'id'],
    ['an empty key', '?key=', 'key'],
    ['a key that is too long', `?key=${'a'.repeat(1025)}`, 'key'],
    ['a key with a NUL', '?key=%00', 'key'],
    ['a key that is no UTF-8', '?key=%ff', 'key'],
    ['two keys', '?key=active&key=active', 'key'],
    ['an empty bucket', '?key=active&bucket=', 'bucket'],
    ['two buckets', '?key=active&bucket=photos&bucket=photos', 'bucket'],
  ])('refuses %s', async (_what, query, field) => {
    const response = await ask(GET + query)
    expect(response.status).toBe(400)
    expect(errorOf(response)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
  })

  it('requires a bucket if the plugin has none', async () => {
    const askWithout = requester(client, { bucket: undefined })
    const response = await askWithout(`${GET}?key=active`)
    expect(response.status).toBe(400)
    expect(errorOf(response)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'bucket' } })
    expect((await askWithout(`${GET}?key=active&bucket=photos`)).status).toBe(200)
  })

  it('returns 401 without a signed-in user, even for invalid input, and makes no store call', async () => {
    const { driver, calls } = recordingDriver()
    const askEmpty = requester(createStore(driver))
    for (const query of ['?key=active', '', '?key=%ff']) {
      const response = await askEmpty(GET + query, { user: null })
      expect(response.status).toBe(401)
      expect(errorOf(response).code).toBe('UNAUTHORIZED')
    }
    expect((await askEmpty(`${GET}?key=`)).status).toBe(400)
    expect(calls).toEqual([])
  })
})

describe('both endpoints', () => {
  const ask = requester(client)
  const ENDPOINTS = ['/api/s3/db/objects', `${GET}?key=active`]

  it.each(ENDPOINTS)('respond to HEAD like GET without a body: %s', async (path) => {
    const [get, head] = [await ask(path), await ask(path, { method: 'HEAD' })]
    expect(head).toMatchObject({ status: 200, body: null })
    expect([...head.headers]).toEqual([...get.headers])
  })

  it.each(ENDPOINTS)('refuse other methods and list the allowed ones: %s', async (path) => {
    for (const method of ['OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await ask(path, { method, user: null })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET, HEAD')
      expect(errorOf(response).code).toBe('METHOD_NOT_ALLOWED')
    }
  })

  it.each([
    '/',
    '/api/s3',
    '/api/s3/db',
    '/api/s3/db/',
    '/api/s3/db/objects/',
    '/api/s3/db/Object',
    '/db/objects',
  ])('exist at no other path: %s', async (path) => {
    const response = await ask(path, { user: null })
    expect(response.status).toBe(404)
    expect(errorOf(response).code).toBe('NOT_FOUND')
  })

  it('are under the base path', async () => {
    for (const basePath of ['/files', '/files/']) {
      const askBelow = requester(client, { basePath })
      expect((await askBelow('/files/db/objects')).status).toBe(200)
      expect((await askBelow('/api/s3/db/objects')).status).toBe(404)
    }
    for (const basePath of ['', '/'])
      expect((await requester(client, { basePath })('/db/objects')).status).toBe(200)
  })

  it('forbid caching of every response', async () => {
    const responses = [
      await ask('/api/s3/db/objects'),
      await ask(`${GET}?key=active`),
      await ask(`${GET}?key=active`, { method: 'HEAD' }),
      await ask(`${GET}?key=missing`),
      await ask('/api/s3/db/objects?limit=0'),
      await ask('/api/s3/db/objects', { user: null }),
      await ask('/api/s3/db/objects', { method: 'OPTIONS' }),
      await ask('/api/s3/unknown'),
      await requester(client, { resolveScope: () => 5 as never, onError: () => undefined })(
        '/api/s3/db/objects',
      ),
    ]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 404, 400, 401, 405, 404, 500])
    for (const { headers } of responses) expect(headers.get('cache-control')).toBe('private, no-store')
  })
})
