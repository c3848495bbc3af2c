import { beforeAll, describe, expect, it } from 'vitest'
import type { ErrorCode } from '@svc/db'
import { errorOf, exchange } from './exchange.js'
import { objects, openInMemory, serverWithObjects, sharingServer, type Serve } from './fixture.js'

const { photo, foreign, shared } = objects
const keyOf = ({ key }: { readonly key: string }) => `key=${encodeURIComponent(key)}`

/** What readers get that are not the owner: signed in, and not. */
const everyone = ['user:2', null]

const badParameters: readonly (readonly [query: string, field: string])[] = [
  ['', 'key'],
  [`${keyOf(photo)}&id=${photo.id}`, 'key'],
  [`id=${photo.id}&bucket=files`, 'bucket'],
  [`id=${photo.id}&id=${photo.id}`, 'id'],
  ['id=', 'id'],
  ['key=', 'key'],
  ['key=%ff', 'key'],
  [`${keyOf(photo)}&bucket=`, 'bucket'],
  [`${keyOf(photo)}&disposition=`, 'disposition'],
  [`${keyOf(photo)}&disposition=INLINE`, 'disposition'],
  [`${keyOf(photo)}&disposition=inline&disposition=inline`, 'disposition'],
  [`${keyOf(photo)}&cors=`, 'cors'],
  [`${keyOf(photo)}&cors=1`, 'cors'],
]

/** Tests `GET /file`, `GET /db/usage`, and reading objects of other owners, with any server. */
export function describeReading(serve: Serve, open = openInMemory): void {
  describe('reading', () => {
    let baseURL: string
    let privateURL: string
    beforeAll(async () => {
      baseURL = await serve(sharingServer(open))
      privateURL = await serve(serverWithObjects({}, open))
    })
    const get = (path: string, as?: string | null, url = baseURL) =>
      exchange(url, { request: `GET ${path}`, ...(as !== undefined && { as }) })

    it('redirects GET /file to a signed URL', async () => {
      for (const query of [
        keyOf(photo),
        `id=${photo.id}`,
        `${keyOf(photo)}&bucket=files&expiresIn=1&x=1&x=2`,
      ]) {
        const { status, text, headers } = await get(`/file?${query}`)
        expect([query, status, text]).toEqual([query, 302, ''])
        // Without a host, which a proxy may have replaced, but not relative: some routers resolve that by rules of their own.
        const { pathname } = new URL(baseURL)
        expect(headers.get('location')).toMatch(new RegExp(`^${pathname}/_storage/[\\w.-]+$`))
      }
    })

    // A signed URL permits one method, so link previews and download managers would not get far with a redirect.
    it('describes the bytes in the response to HEAD /file', async () => {
      const query = `id=${photo.id}&disposition=inline`
      const { status, headers } = await exchange(baseURL, { request: `HEAD /file?${query}` })
      const names = [
        'content-length',
        'content-type',
        'content-disposition',
        'etag',
        'accept-ranges',
        'location',
      ]
      expect([status, ...names.map((name) => headers.get(name))]).toEqual([
        ...[200, '10', 'image/jpeg'],
        `inline; filename="Urlaub _.jpg"; filename*=UTF-8''Urlaub%20%E2%98%80.jpg`,
        ...['"never-shown"', 'bytes', null],
      ])
      const refused = await exchange(baseURL, { request: `HEAD /file?${query}`, as: 'user:2' })
      expect([refused.status, refused.headers.has('etag')]).toEqual([404, false])
    })

    it('refuses invalid parameters of GET /file', async () => {
      for (const [query, field] of badParameters) {
        for (const as of ['user:1', null]) {
          const { status, json } = await get(`/file?${query}`, as)
          expect([query, status, json]).toEqual([query, 400, errorOf('VALIDATION_ERROR', field)])
        }
        expect((await get(`/file?${query}`, null, privateURL)).status).toBe(401)
      }
    })

    it('allows only GET and HEAD', async () => {
      for (const method of ['OPTIONS', 'POST', 'PUT', 'DELETE']) {
        for (const path of ['/file', '/db/usage']) {
          const { status, headers } = await exchange(baseURL, { request: `${method} ${path}` })
          expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
        }
      }
    })

    it.each(everyone)('of a shared object is open to %s', async (as) => {
      expect((await get(`/db/object?${keyOf(shared)}`, as)).json).toEqual({ object: shared })
      expect((await get(`/db/object?id=${shared.id}`, as)).json).toEqual({ object: shared })
      expect(await get(`/download?${keyOf(shared)}`, as)).toMatchObject({ status: 200 })
      expect(await get(`/file?id=${shared.id}&disposition=inline`, as)).toMatchObject({ status: 302 })
      const refused: ErrorCode = as === null ? 'UNAUTHORIZED' : 'OBJECT_NOT_FOUND'
      const removal = await exchange(baseURL, { request: `DELETE /object?${keyOf(shared)}`, as })
      expect(removal.json).toEqual(errorOf(refused))
    })

    it.each(everyone)('of any other object looks like a missing one to %s', async (as) => {
      for (const path of ['/file', '/download', '/db/object']) {
        const responses = []
        for (const [url, key] of [
          [baseURL, 'missing'],
          [baseURL, photo.key],
          [privateURL, photo.key],
          [privateURL, shared.key],
        ] as const) {
          const { status, headers, text } = await get(`${path}?key=${encodeURIComponent(key)}`, as, url)
          responses.push({ status, text, headers: [...headers].filter(([name]) => name !== 'date') })
        }
        expect(responses[0]!.status).toBe(as === null ? 401 : 404)
        for (const response of responses) expect(response).toEqual(responses[0])
      }
    })

    it('of the own object does not depend on sharing', async () => {
      expect(await get(`/file?${keyOf(foreign)}`, 'user:2')).toMatchObject({ status: 302 })
      expect(await get(`/file?${keyOf(foreign)}`, 'user:2', privateURL)).toMatchObject({ status: 302 })
    })

    it('GET /db/usage returns the usage and the limits that there are', async () => {
      const { status, json } = await get('/db/usage')
      expect({ status, json }).toEqual({
        status: 200,
        json: {
          usage: { bytes: 15, files: 3, reservedBytes: 17, reservedFiles: 1 },
          quota: { maxBytes: 1000 },
        },
      })
      const usage = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
      expect((await get('/db/usage', 'user:3')).json).toEqual({ usage, quota: {} })
    })

    it('GET /db/usage requires authentication, and the option', async () => {
      expect((await get('/db/usage', null)).json).toEqual(errorOf('UNAUTHORIZED'))
      // Not by `exchange`: this server's document lacks the path.
      const off = await fetch(`${privateURL}/db/usage`)
      expect([off.status, await off.json()]).toEqual([404, errorOf('NOT_FOUND')])
    })
  })
}
