import { beforeAll, describe, expect, it } from 'vitest'
import type { ErrorCode, ObjectPage, DbClientObject } from '@svc/db'
import { errorOf, exchange } from './exchange.js'
import { objects, serverWithObjects, serverWithoutDatabase, type Serve } from './fixture.js'

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
  readonly path: string
  readonly status: number
  readonly code: ErrorCode
  /** The invalid parameter. */
  readonly field?: string
}
const badParameter = (field: string, path: string): Refusal => {
  return { path, status: 400, code: 'VALIDATION_ERROR', field }
}
const badCursor = (path: string): Refusal => ({ path, status: 400, code: 'INVALID_CURSOR' })
const missing = (path: string): Refusal => ({ path, status: 404, code: 'OBJECT_NOT_FOUND' })
const badLimits = [
  '101',
  '0',
  '05',
  '1.5',
  '1e1',
  '+5',
  '%2B5',
  '-1',
  '',
  '%20',
  '5%20',
  'x',
  '0x5',
  '%EF%BC%95',
]
const badStatuses = ['', 'all', 'Active', 'active,pending', 'constructor']
const badRoutes = ['', '%00', '%ff', '%zz', 'r'.repeat(256)]
const badKeys = ['', '%00', '%ff', 'k'.repeat(1025)]
const refusals: readonly Refusal[] = [
  ...badLimits.map((limit) => badParameter('limit', `/db/objects?limit=${limit}`)),
  ...badStatuses.map((status) => badParameter('status', `/db/objects?status=${status}`)),
  badParameter('status', '/db/objects?status'),
  ...badRoutes.map((route) => badParameter('route', `/db/objects?route=${route}`)),
  ...['', 'made-up', 'A'.repeat(300)].map((cursor) => badCursor(`/db/objects?cursor=${cursor}`)),
  ...['status', 'limit', 'route', 'cursor'].map((name) =>
    badParameter(name, `/db/objects?${name}=5&${name}=5`),
  ),
  badParameter('limit', '/db/objects?limit=1&%6Cimit=2'),
  badParameter('key', '/db/object'),
  ...badKeys.map((key) => badParameter('key', `/db/object?key=${key}`)),
  badParameter('key', '/db/object?key=drafts/1&key=drafts/1'),
  badParameter('bucket', '/db/object?key=drafts/1&bucket='),
  badParameter('bucket', '/db/object?key=drafts/1&bucket=files&bucket=files'),
  missing(keyOf(gone.key)),
  missing(keyOf(foreign.key)),
  missing(keyOf('missing.txt')),
  missing('/db/object?key=Drafts/1'),
  missing('/db/object?key=drafts/1&bucket=archive'),
]

const unknownPaths = [
  '',
  '/',
  '?key=x',
  '/db',
  '/db/',
  '/db/objects/',
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
export function describeDbEndpoints(serve: Serve): void {
  describe('the endpoints of db()', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects())
    })

    it.each(Object.entries(lists))('GET %s', async (path, expected) => {
      expect(await exchange(baseURL, { request: `GET ${path}` })).toMatchObject({
        status: 200,
        json: { objects: expected },
      })
      const { json } = await exchange(baseURL, { request: `GET ${path}` })
      if (!path.includes('limit=1')) expect(json).toEqual({ objects: expected })
    })

    it('lists objects in pages, each with a cursor for the next', async () => {
      const seen: DbClientObject[] = []
      let query = '?limit=1'
      for (;;) {
        const { json } = await exchange(baseURL, { request: `GET /db/objects${query}` })
        const { objects: page, nextCursor } = json as ObjectPage<DbClientObject>
        seen.push(...page)
        if (nextCursor === undefined) break
        query = `?limit=1&cursor=${nextCursor}`
      }
      expect(seen).toEqual([archived, report, photo])
    })

    it('lists only objects of the caller', async () => {
      const { json } = await exchange(baseURL, { request: 'GET /db/objects', as: 'user:2' })
      expect(json).toEqual({ objects: [foreign] })
      const other = await exchange(baseURL, { request: 'GET /db/objects', as: 'user:3' })
      expect(other.json).toEqual({ objects: [] })
    })

    it.each(Object.entries(found))('GET %s', async (path, object) => {
      const { status, json } = await exchange(baseURL, { request: `GET ${path}` })
      expect({ status, json }).toEqual({ status: 200, json: { object } })
    })

    it.each(refusals)('GET $path → $status $code $field', async ({ path, status, code, field }) => {
      const result = await exchange(baseURL, { request: `GET ${path}` })
      expect(result.json).toEqual(errorOf(code, field))
      expect(result.status).toBe(status)
      const head = await exchange(baseURL, { request: `HEAD ${path}` })
      expect(head.status).toBe(status)
    })

    it('ignores thousands of malformed parameters', async () => {
      for (const malformed of ['%&', '%ff&', '=&', '%61&']) {
        const path = `/db/objects?${malformed.repeat(8100 / malformed.length)}status=pending`
        const { status, json } = await exchange(baseURL, { request: `GET ${path}` })
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
          const { status, headers, text } = await exchange(baseURL, { request: `GET ${path}` })
          return { status, text, headers: [...headers].filter(([name]) => name !== 'date') }
        }),
      )
      expect(responses[1]).toEqual(responses[0])
      expect(responses[2]).toEqual(responses[0])
    })

    it.each(['/db/objects', keyOf('drafts/1')])('HEAD %s is GET without a body', async (path) => {
      const compared = ['content-type', 'cache-control', 'allow', 'retry-after']
      const get = await exchange(baseURL, { request: `GET ${path}` })
      const head = await exchange(baseURL, { request: `HEAD ${path}` })
      expect(head.status).toBe(200)
      expect(compared.map((name) => head.headers.get(name))).toEqual(
        compared.map((name) => get.headers.get(name)),
      )
    })

    it.each(['OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])('%s is not allowed', async (method) => {
      for (const path of ['/db/objects', '/db/objects?limit=0', '/db/object']) {
        const { status, headers, json } = await exchange(baseURL, { request: `${method} ${path}`, as: null })
        expect({ status, json }).toEqual({ status: 405, json: errorOf('METHOD_NOT_ALLOWED') })
        expect(headers.get('allow')).toBe('GET, HEAD')
      }
    })

    it.each(unknownPaths)('returns NOT_FOUND for %j', async (path) => {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const { status, json } = await exchange(baseURL, { request: `${method} ${path}`, as: null })
        expect({ status, json }).toEqual({ status: 404, json: errorOf('NOT_FOUND') })
      }
    })

    it.each(['/db/objects', '/db/objects?limit=0', '/db/object', keyOf('drafts/1')])(
      'GET %s requires authentication',
      async (path) => {
        const { status, json } = await exchange(baseURL, { request: `GET ${path}`, as: null })
        expect({ status, json }).toEqual({ status: 401, json: errorOf('UNAUTHORIZED') })
      },
    )

    it('hides the details of an internal error', async () => {
      const { status, json } = await exchange(baseURL, { request: 'GET /db/objects', as: 'broken' })
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
