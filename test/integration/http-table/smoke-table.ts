import { once } from 'node:events'
import { beforeAll, describe, expect, it } from 'vitest'
import type { DbClientObject, Handler } from '@svc/db'
import { deferred } from '../bindings/deferred.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { errorOf, exchange } from './exchange.js'
import { objects, serverWithObjects, serverWithoutDatabase, type Serve } from './fixture.js'

interface Begun {
  readonly object: DbClientObject
  readonly upload: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
}

/** A handler whose responses the library would seldom give. */
function createProbe() {
  const waiting = deferred<Request>()
  const handler: Handler = async (request, options) => {
    const { origin, pathname } = new URL(request.url)
    if (pathname.endsWith('/broken')) throw new Error('broken')
    if (pathname.endsWith('/wait')) {
      waiting.resolve(request)
      await once(request.signal, 'abort')
      return new Response('unread')
    }
    if (pathname.endsWith('/chunks')) return new Response(new Blob(['one ', 'two']).stream())
    const headers = new Headers({ 'x-name': request.headers.get('x-name') ?? '' })
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')
    return Response.json(origin + options!.basePath, { status: 202, headers })
  }
  return { basePath: '/api/s3', handler, waiting: waiting.promise }
}

/** Tests what a binding can break, for older versions of a framework and for the many ways to mount a binding. */
export function describeSmokeTable(serve: Serve): void {
  describe('in short', () => {
    const probe = createProbe()
    let baseURL: string
    let probeURL: string
    let unreachableURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects())
      probeURL = await serve(probe)
      unreachableURL = await serve(serverWithoutDatabase())
    })
    const send = (request: string, json?: object) =>
      exchange(baseURL, json === undefined ? { request } : { request, json })

    async function begin(size: number): Promise<Begun> {
      const { status, json } = await send('POST /upload', { filename: 'a', contentType: 'image/png', size })
      expect(status).toBe(201)
      return json as Begun
    }

    it('uploads, downloads and deletes an object', async () => {
      const { object, upload } = await begin(300_000)
      expect(upload.url.startsWith(`${baseURL}/_storage/`)).toBe(true)
      const body = new Uint8Array(300_000).map((_, i) => i * 7)
      const put = { method: 'PUT', headers: upload.headers }
      expect((await fetch(upload.url, { ...put, body: body.subarray(1) })).status).toBe(400)
      expect((await fetch(upload.url, { ...put, body })).status).toBe(200)
      const { key, id } = object
      expect((await send('POST /upload/confirm', { key, id })).json).toMatchObject({
        object: { size: 300_000 },
      })

      const query = `key=${encodeURIComponent(key)}`
      const renamed = await send(`PATCH /db/object?${query}`, { filename: 'b' })
      expect(renamed.json).toMatchObject({ object: { filename: 'b', size: 300_000 } })
      const file = await send(`GET /file?${query}&disposition=inline`)
      expect([file.status, file.text]).toEqual([302, ''])
      const location = new URL(file.headers.get('location')!, `${baseURL}/file`)
      const download = await fetch(location)
      expect(Buffer.from(await download.arrayBuffer()).equals(body)).toBe(true)
      const head = await fetch(location, { method: 'HEAD' })
      for (const { headers } of [download, head]) {
        expect([headers.get('content-type'), headers.get('content-length')]).toEqual(['image/png', '300000'])
      }
      expect(await send(`DELETE /object?${query}`)).toMatchObject({ status: 204, text: '' })
    })

    it('uploads an empty object and a part without a content type', async () => {
      const { upload } = await begin(0)
      expect((await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: '' })).status).toBe(200)

      const file = { filename: 'a', contentType: 'video/mp4', size: 3 }
      const { object, uploadId } = (await send('POST /multipart', file)).json as Begun & { uploadId: string }
      const reference = { key: object.key, id: object.id, uploadId }
      const { parts } = (await send('POST /multipart/parts', { ...reference, partNumbers: [1] })).json as {
        parts: { url: string }[]
      }
      const part = await fetch(parts[0]!.url, { method: 'PUT', body: new Blob(['abc']) })
      expect([part.status, part.headers.get('etag')]).toEqual([200, expect.stringMatching(/^"/)])
      expect((await send('POST /multipart/complete', reference)).status).toBe(200)
    })

    it('returns lists, errors and their headers', async () => {
      expect((await send('GET /db/objects?route=photos')).json).toEqual({ objects: [objects.photo] })
      expect(await send('HEAD /db/objects')).toMatchObject({ status: 200, text: '' })
      expect((await send('GET /db/objects?limit=0')).json).toEqual(errorOf('VALIDATION_ERROR', 'limit'))
      expect((await exchange(baseURL, { request: 'GET /db/objects', as: null })).status).toBe(401)
      for (const path of ['/nothing', '//db/objects']) {
        expect((await send(`GET ${path}`)).json).toEqual(errorOf('NOT_FOUND'))
      }
      expect((await send('OPTIONS /db/objects')).headers.get('allow')).toBe('GET, HEAD')
      const unavailable = await exchange(unreachableURL, { request: 'GET /db/objects' })
      expect([unavailable.status, unavailable.headers.get('retry-after')]).toEqual([503, '5'])
    })

    it('leaves other paths to the application', async () => {
      const response = await fetch(`${baseURL}x`)
      expect(response.status).toBe(404)
      expect(await response.text()).not.toContain('NOT_FOUND')
    })

    it('passes on the URL, headers and chunks', async () => {
      const response = await fetch(`${probeURL}/echo`, { headers: { 'x-name': 'J\xfcrgen' } })
      expect([response.status, await response.json()]).toEqual([202, probeURL])
      expect(response.headers.get('x-name')).toBe('J\xfcrgen')
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
      expect(await (await fetch(`${probeURL}/chunks`)).text()).toBe('one two')
    })

    it('leaves unexpected errors to the application', async () => {
      const response = await fetch(`${probeURL}/broken`)
      expect([response.status, (await response.text()) === '']).toEqual([500, false])
    })

    it('aborts a request when its client disconnects', async () => {
      const client = new AbortController()
      const response = fetch(`${probeURL}/wait`, { signal: client.signal })
      const { signal } = await probe.waiting
      expect(signal.aborted).toBe(false)

      client.abort()

      await expect(response).rejects.toThrow()
      if (!signal.aborted) await once(signal, 'abort')
    })

    it('stores nothing of an upload that breaks off', async () => {
      const { object, upload } = await begin(10)
      const { pathname, host, port } = new URL(upload.url)
      const headers = Object.entries(upload.headers).map(([name, value]) => `${name}: ${value}\r\n`)
      const connection = await RawConnection.open(Number(port))
      connection.send(
        `PUT ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n${headers.join('')}\r\nhalf`,
      )
      connection.socket.end()
      await connection.rest()

      const { key, id } = object
      expect((await send('POST /upload/confirm', { key, id })).json).toEqual(errorOf('UPLOAD_MISMATCH'))
      const body = '0123456789'
      expect((await fetch(upload.url, { method: 'PUT', headers: upload.headers, body })).status).toBe(200)
    })
  })
}
