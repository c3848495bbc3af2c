import { beforeAll, describe, expect, it } from 'vitest'
import type { ErrorCode, ObjectPage, DbClientObject } from '@svc/db'
import { errorOf, exchange } from './exchange.js'
import { objects, openInMemory, serverWithObjects, serverWithoutDatabase, type Serve } from './fixture.js'

const { photo, report, archived, draft, replacement, gone, foreign } = objects

/** Lists and their expected objects, newest first. */
const lists: Readonly<Record<string, readonly DbClientObject[]>> = {
  '/db/objects': [archived, report, photo],
  '/db/objects?': [archived, report, photo],
  '/db/objects?status=active': [archived, report, photo],
  '/db/objects?status=pending': [replacement, draft],
  '/db/objects?status=deleted': [gone],
  '/db/objects?route=photos': [photo],
  '/db/objects?route=Photos': [],
  '/db/objects?route=reports&status=active&limit=1': [report],
  '/db/objects?limit=3': [archived, report, photo],
  '/db/objects?limit=100': [archived, report, photo],
  '/db/objects?scope=user%3A2&bucket=archive&x=1&x=2': [archived, report, photo],
  '/db/objects?st%61tus=%70ending': [replacement, draft],
}

const keyOf = (key: string) => `/db/object?key=${encodeURIComponent(key)}`
const found: Readonly<Record<string, DbClientObject>> = {
  [keyOf('photos/1.jpg')]: photo,
  [`${keyOf('photos/1.jpg')}&bucket=files`]: photo,
  [`${keyOf('photos/1.jpg')}&bucket=archive`]: archived,
  [keyOf('drafts/1')]: draft,
  [keyOf(report.key)]: report,
  [`/db/object?${new URLSearchParams({ key: report.key }).toString()}`]: report,
  '/db/object?key=drafts/1&key2=x&key2=y': draft,
}

interface Refusal {
  readonly status: number
  readonly code: ErrorCode
  /** The invalid parameter. */
  readonly field?: string
  readonly paths: readonly string[]
}

const many = (prefix: string, values: readonly string[]) => values.map((value) => prefix + value)
const badParameter = (field: string, paths: readonly string[]): Refusal => ({
  ...{ status: 400, code: 'VALIDATION_ERROR', field },
  paths,
})
const badLimits = ['101', '0', '05', '1.5', '1e1', '+5', '%2B5', '-1', '', '%20', '5%20', 'x', '0x5']
const refusals: Readonly<Record<string, Refusal>> = {
  'an invalid limit': badParameter('limit', [
    ...many('/db/objects?limit=', [...badLimits, '%EF%BC%95', '5&limit=5', '1&%6Cimit=2']),
  ]),
  'an invalid status': badParameter('status', [
    '/db/objects?status',
    ...many('/db/objects?status=', ['', 'all', 'Active', 'active,pending', 'constructor', '5&status=5']),
  ]),
  'an invalid route': badParameter(
    'route',
    many('/db/objects?route=', ['', '%00', '%ff', '%zz', 'r'.repeat(256), '5&route=5']),
  ),
  'an invalid cursor': {
    ...{ status: 400, code: 'INVALID_CURSOR' },
    paths: many('/db/objects?cursor=', ['', 'made-up', 'A'.repeat(300)]),
  },
  'a repeated cursor': badParameter('cursor', ['/db/objects?cursor=5&cursor=5']),
  'an invalid key': badParameter('key', [
    '/db/object',
    ...many('/db/object?key=', ['', '%00', '%ff', 'k'.repeat(1025), 'drafts/1&key=drafts/1']),
  ]),
  'an invalid bucket': badParameter(
    'bucket',
    many('/db/object?key=drafts/1&bucket=', ['', 'files&bucket=files']),
  ),
  'a missing object': {
    ...{ status: 404, code: 'OBJECT_NOT_FOUND' },
    paths: [
      ...[gone.key, foreign.key, 'missing.txt', 'Drafts/1'].map(keyOf),
      '/db/object?key=drafts/1&bucket=archive',
    ],
  },
}

const unknownPaths = [
  '',
  '/',
  '?key=x',
  '/db',
  '/db/',
  '/db/objects//',
  '//db/objects/',
  '//',
  '/db/objects/1',
  '/DB/objects',
  '/db//objects',
  '/db/object%73',
  '/db%2Fobjects',
  '/constructor',
  '/__proto__',
  '/_storage',
]

/** Tests the two endpoints of `db()` with any server. */
export function describeDbEndpoints(serve: Serve, open = openInMemory): void {
  describe('the endpoints of db()', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects({}, open))
    })

    const get = (path: string, as?: string | null) =>
      exchange(baseURL, { request: `GET ${path}`, ...(as !== undefined && { as }) })

    it('lists objects by status and route, newest first', async () => {
      for (const [path, expected] of Object.entries(lists)) {
        const { status, json } = await get(path)
        expect([path, status, json]).toEqual([path, 200, { objects: expected }])
      }
    })

    it('lists objects in pages, each with a cursor for the next', async () => {
      const seen: DbClientObject[] = []
      let query = '?limit=1'
      for (;;) {
        const { json } = await get(`/db/objects${query}`)
        const { objects: page, nextCursor } = json as ObjectPage<DbClientObject>
        seen.push(...page)
        if (nextCursor === undefined) break
        query = `?limit=1&cursor=${nextCursor}`
      }
      expect(seen).toEqual([archived, report, photo])
    })

    it('lists only objects of the caller', async () => {
      expect((await get('/db/objects', 'user:2')).json).toEqual({ objects: [foreign] })
      expect((await get('/db/objects', 'user:3')).json).toEqual({ objects: [] })
    })

    it('finds an object by its key', async () => {
      for (const [path, object] of Object.entries(found)) {
        const { status, json } = await get(path)
        expect([path, status, json]).toEqual([path, 200, { object }])
      }
    })

    it.each(Object.entries(refusals))('refuses %s', async (_what, { status, code, field, paths }) => {
      for (const path of paths) {
        const refused = await get(path)
        expect([path, refused.status, refused.json]).toEqual([path, status, errorOf(code, field)])
      }
      expect((await exchange(baseURL, { request: `HEAD ${paths[0]}` })).status).toBe(status)
    })

    it('ignores thousands of malformed parameters', async () => {
      for (const malformed of ['%&', '%ff&', '=&', '%61&']) {
        const path = `/db/objects?${malformed.repeat(8100 / malformed.length)}status=pending`
        const { status, json } = await get(path)
        expect({ status, json }).toEqual({ status: 200, json: { objects: [replacement, draft] } })
      }
    })

    it('refuses a query of more than 8192 bytes', async () => {
      const longest = `status=pending&${'x'.repeat(8177)}`
      const accepted = await exchange(baseURL, { request: `GET /db/objects?${longest}` })
      expect(accepted.json).toEqual({ objects: [replacement, draft] })
      for (const request of [
        `GET /db/objects?${longest}x`,
        `POST /upload?${longest}x`,
        `DELETE /object?${longest}x`,
      ]) {
        const { status, json } = await exchange(baseURL, { request })
        expect({ status, json }).toEqual({ status: 400, json: errorOf('VALIDATION_ERROR', 'query') })
        expect((await exchange(baseURL, { request, as: null })).status).toBe(401)
      }
    })

    it('returns the same response for a missing object and for another scope’s object', async () => {
      const responses = await Promise.all(
        [keyOf(foreign.key), keyOf('missing.txt'), keyOf(gone.key)].map(async (path) => {
          const { status, headers, text } = await get(path)
          return { status, text, headers: [...headers].filter(([name]) => name !== 'date') }
        }),
      )
      expect(responses[1]).toEqual(responses[0])
      expect(responses[2]).toEqual(responses[0])
    })

    it('responds to HEAD like to GET, without a body', async () => {
      const compared = ['content-type', 'cache-control', 'allow', 'retry-after']
      for (const path of ['/db/objects', keyOf('drafts/1')]) {
        const expected = await get(path)
        const { status, headers } = await exchange(baseURL, { request: `HEAD ${path}` })
        expect([status, ...compared.map((name) => headers.get(name))]).toEqual([
          200,
          ...compared.map((name) => expected.headers.get(name)),
        ])
      }
    })

    it('changes an object by its key or id', async () => {
      const own = await serve(serverWithObjects({}, open))
      const patch = async (path: string, json: object) =>
        exchange(own, { request: `PATCH /db/object?${path}`, json })
      const { status, json } = await patch('key=photos/1.jpg', { filename: 'Ä ☀.jpg', more: 'ignored' })
      expect({ status, json }).toEqual({ status: 200, json: { object: { ...photo, filename: 'Ä ☀.jpg' } } })
      const changes = { contentType: 'image/png', setMetadata: { album: 'Summer' } }
      const changed = { ...archived, contentType: 'image/png' }
      expect((await patch(`id=${archived.id}`, changes)).json).toEqual({ object: changed })
      expect((await patch(`id=${archived.id}`, { metadata: null })).json).toEqual({ object: changed })
      expect((await exchange(own, { request: `GET ${keyOf('photos/1.jpg')}` })).json).toEqual({
        object: { ...photo, filename: 'Ä ☀.jpg' },
      })
    })

    it.each<[what: string, path: string, body: object, field: string | null]>([
      ['another owner’s object', `key=${foreign.key}`, { filename: 'a' }, null],
      ['a pending object', 'key=drafts/1', { filename: 'a' }, null],
      ['a deleted object', `key=${gone.key}`, { filename: 'a' }, null],
      ['another version', 'key=photos/1.jpg', { filename: 'a', attemptId: draft.id }, null],
      ['no change', 'key=photos/1.jpg', { filename: null, size: 5 }, 'body'],
      ['a filename that no upload may have', 'key=photos/1.jpg', { filename: '' }, 'filename'],
      ['an invalid media type', 'key=photos/1.jpg', { contentType: 'png' }, 'contentType'],
      ['invalid metadata', 'key=photos/1.jpg', { setMetadata: { a: 5 } }, 'setMetadata'],
      ['metadata in two ways', 'key=photos/1.jpg', { metadata: null, setMetadata: {} }, 'setMetadata'],
      ['a bucket with an id', `id=${photo.id}&bucket=files`, { filename: 'a' }, 'bucket'],
      ['no key', '', { filename: 'a' }, 'key'],
      ['no JSON', 'key=photos/1.jpg', [], 'body'],
    ])('refuses to change %s', async (_what, path, json, field) => {
      const refused = await exchange(baseURL, { request: `PATCH /db/object?${path}`, json })
      const expected = field === null ? errorOf('OBJECT_NOT_FOUND') : errorOf('VALIDATION_ERROR', field)
      expect([refused.status, refused.json]).toEqual([field === null ? 404 : 400, expected])
    })

    it('refuses a change without the content type of JSON, or of a caller who is not signed in', async () => {
      const request = 'PATCH /db/object?key=photos/1.jpg'
      const simple = await exchange(baseURL, { request, body: '{"filename":"a"}' })
      expect(simple.json).toEqual(errorOf('VALIDATION_ERROR', 'body'))
      expect((await exchange(baseURL, { request, json: { filename: 'a' }, as: null })).status).toBe(401)
    })

    it('allows only the methods that a path has', async () => {
      expect((await exchange(baseURL, { request: 'PUT /db/object' })).headers.get('allow')).toBe(
        'GET, HEAD, PATCH',
      )
      for (const method of ['OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        for (const path of ['/db/objects', '/db/objects?limit=0']) {
          const { status, headers, json } = await exchange(baseURL, {
            request: `${method} ${path}`,
            as: null,
          })
          expect({ status, json }).toEqual({ status: 405, json: errorOf('METHOD_NOT_ALLOWED') })
          expect(headers.get('allow')).toBe('GET, HEAD')
        }
      }
    })

    it('returns NOT_FOUND for any other path', async () => {
      for (const path of unknownPaths) {
        for (const method of ['GET', 'POST', 'OPTIONS']) {
          const { status, json } = await exchange(baseURL, { request: `${method} ${path}`, as: null })
          expect([path, status, json]).toEqual([path, 404, errorOf('NOT_FOUND')])
        }
      }
    })

    it('requires authentication', async () => {
      for (const path of ['/db/objects', '/db/objects?limit=0', '/db/object', keyOf('drafts/1')]) {
        const { status, json } = await get(path, null)
        expect({ status, json }).toEqual({ status: 401, json: errorOf('UNAUTHORIZED') })
      }
    })

    it('hides the details of an internal error', async () => {
      const { status, json } = await get('/db/objects', 'broken')
      expect(status).toBe(500)
      expect(json).toEqual({ code: 'INTERNAL_ERROR', message: expect.any(String) as string })
    })

    it('sends Retry-After if the database is unavailable', async () => {
      const unreachable = await serve(serverWithoutDatabase())
      for (const path of ['/db/objects', keyOf('drafts/1')]) {
        const { status, headers, json } = await exchange(unreachable, { request: `GET ${path}` })
        expect(status).toBe(503)
        expect(json).toEqual({ code: 'DATABASE_UNAVAILABLE', message: expect.any(String) as string })
        expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      }
    })
  })
}
