import { describe, expect, it } from 'vitest'
import { createStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { recordingDriver } from '../store/recording-driver.js'
import { asker, errorOf } from './db-requests.js'

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
  const ask = asker(client)
  const idOf = async (query: string) => {
    const { status, body } = await ask(GET + query)
    expect(status).toBe(200)
    return (body as { object: { id: string } }).object.id
  }

  it('answers the active object with only what a browser may see', async () => {
    const answer = await ask(`${GET}?key=active`)
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
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

  it('answers the pending object where there is no active one', async () => {
    expect(await idOf('?key=pending')).toBe(idNumber(2))
    expect(await idOf('?key=replaced')).toBe(idNumber(3))
  })

  it('takes the bucket that is named, else that of the plugin', async () => {
    expect(await idOf('?key=active&bucket=photos')).toBe(idNumber(1))
    expect(await idOf('?key=active&bucket=videos')).toBe(idNumber(9))
    expect((await ask(`${GET}?key=active&bucket=unknown`)).status).toBe(404)
  })

  it('takes any key, percent-encoded', async () => {
    expect(await idOf(`?key=${encodeURIComponent('a b/ü+&=?#%')}`)).toBe(idNumber(8))
  })

  it.each(['other', 'other pending', 'deleted', 'missing'])(
    'answers 404 for what is deleted, missing or of another scope, always the same: %s',
    async (key) => {
      const missing = await ask(`${GET}?key=never%20was`)
      const answer = await ask(`${GET}?key=${encodeURIComponent(key)}`)
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual(missing.body)
      expect(errorOf(answer)).toEqual({ code: 'OBJECT_NOT_FOUND', message: 'The object does not exist.' })
      expect([...answer.headers]).toEqual([...missing.headers])
    },
  )

  it.each([
    ['no key', '', 'key'],
    ['an empty key', '?key=', 'key'],
    ['a key that is too long', `?key=${'a'.repeat(1025)}`, 'key'],
    ['a key with a NUL', '?key=%00', 'key'],
    ['a key that is no UTF-8', '?key=%ff', 'key'],
    ['two keys', '?key=active&key=active', 'key'],
    ['an empty bucket', '?key=active&bucket=', 'bucket'],
    ['two buckets', '?key=active&bucket=photos&bucket=photos', 'bucket'],
  ])('refuses %s', async (_what, query, field) => {
    const answer = await ask(GET + query)
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
  })

  it('needs the bucket where the plugin has none', async () => {
    const askWithout = asker(client, { bucket: undefined })
    const answer = await askWithout(`${GET}?key=active`)
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'bucket' } })
    expect((await askWithout(`${GET}?key=active&bucket=photos`)).status).toBe(200)
  })

  it('lets nobody in who is not signed in, also with bad input, and asks no database', async () => {
    const { driver, calls } = recordingDriver()
    const askEmpty = asker(createStore(driver))
    for (const query of ['?key=active', '', '?key=%ff']) {
      const answer = await askEmpty(GET + query, { user: null })
      expect(answer.status).toBe(401)
      expect(errorOf(answer).code).toBe('UNAUTHORIZED')
    }
    expect((await askEmpty(`${GET}?key=`)).status).toBe(400)
    expect(calls).toEqual([])
  })
})

describe('both endpoints', () => {
  const ask = asker(client)
  const ENDPOINTS = ['/api/s3/db/objects', `${GET}?key=active`]

  it.each(ENDPOINTS)('answer HEAD as GET without a body: %s', async (path) => {
    const [get, head] = [await ask(path), await ask(path, { method: 'HEAD' })]
    expect(head).toMatchObject({ status: 200, body: null })
    expect([...head.headers]).toEqual([...get.headers])
  })

  it.each(ENDPOINTS)('refuse other methods with what is allowed: %s', async (path) => {
    for (const method of ['OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await ask(path, { method, user: null })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('GET, HEAD')
      expect(errorOf(answer).code).toBe('METHOD_NOT_ALLOWED')
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
  ])('are nowhere else: %s', async (path) => {
    const answer = await ask(path, { user: null })
    expect(answer.status).toBe(404)
    expect(errorOf(answer).code).toBe('NOT_FOUND')
  })

  it('lie below the base path', async () => {
    for (const basePath of ['/files', '/files/']) {
      const askBelow = asker(client, { basePath })
      expect((await askBelow('/files/db/objects')).status).toBe(200)
      expect((await askBelow('/api/s3/db/objects')).status).toBe(404)
    }
    for (const basePath of ['', '/'])
      expect((await asker(client, { basePath })('/db/objects')).status).toBe(200)
  })

  it('forbid every cache, whatever they answer', async () => {
    const answers = [
      await ask('/api/s3/db/objects'),
      await ask(`${GET}?key=active`),
      await ask(`${GET}?key=active`, { method: 'HEAD' }),
      await ask(`${GET}?key=missing`),
      await ask('/api/s3/db/objects?limit=0'),
      await ask('/api/s3/db/objects', { user: null }),
      await ask('/api/s3/db/objects', { method: 'OPTIONS' }),
      await ask('/api/s3/unknown'),
      await asker(client, { resolveScope: () => 5 as never, onError: () => undefined })('/api/s3/db/objects'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 400, 401, 405, 404, 500])
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('private, no-store')
  })
})
