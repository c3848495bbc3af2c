import { beforeAll, describe, expect, it } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { errorOf, exchange, type ExchangeRequest } from './exchange.js'
import { openInMemory, serverWithObjects, type Serve, type UploadTarget } from './fixture.js'

interface Begun {
  readonly object: DbClientObject
  readonly upload: { readonly method: string; readonly url: string; readonly headers: Record<string, string> }
}

/** A bucket, and its responses to signed URLs. */
export interface BucketBehavior {
  readonly target?: UploadTarget
  /** The start of its signed URLs; `null` for URLs of the server itself. */
  readonly urlStart: string | null
  /** Whether a URL signed for GET also accepts HEAD. */
  readonly servesHead: boolean
  /** The status of a download of a deleted object. In a bucket, an empty object keeps its upload URL from writing again. */
  readonly deletedObject: number
  /** The response to an upload of the wrong size. */
  readonly wrongSize: { readonly status: number; readonly body: unknown }
  /** The status of a second upload to the same URL. */
  readonly secondUpload: number
}

export const SERVED_BY_THE_SERVER: BucketBehavior = {
  urlStart: null,
  servesHead: true,
  deletedObject: 404,
  wrongSize: { status: 400, body: errorOf('VALIDATION_ERROR', 'body') },
  secondUpload: 409,
}

/** Tests the lifecycle of an object, as a browser performs it. */
export function describeObjectLife(
  serve: Serve,
  bucket: BucketBehavior = SERVED_BY_THE_SERVER,
  open = openInMemory,
): void {
  describe('the lifecycle of an object', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects(bucket.target, open))
    })

    async function begin(size: number, contentType = 'image/png'): Promise<Begun> {
      const json = { filename: 'Foto ☀.png', contentType, size }
      const response = await exchange(baseURL, { request: 'POST /upload', json })
      expect(response.status).toBe(201)
      return response.json as Begun
    }
    const put = ({ url, method, headers }: Begun['upload'], body: Uint8Array<ArrayBuffer>) =>
      fetch(url, { method, headers, body })
    const send = (request: string, json?: ExchangeRequest['json']) =>
      exchange(baseURL, json === undefined ? { request } : { request, json })
    const referenceOf = ({ key, id }: DbClientObject) => ({ key, id })

    it.each([0, 3, 300_000])('with %d bytes', async (size) => {
      const bytes = new Uint8Array(size).map((_, i) => i * 7)
      const { object, upload } = await begin(size)
      expect(object).toMatchObject({ status: 'pending', declaredSize: size })
      expect(upload.url.startsWith(bucket.urlStart ?? `${baseURL}/_storage/`)).toBe(true)
      expect((await put(upload, bytes)).status).toBe(200)

      const confirmed = await send('POST /upload/confirm', referenceOf(object))
      expect(confirmed.status).toBe(200)
      expect(confirmed.json).toMatchObject({ object: { id: object.id, status: 'active', size } })
      expect((await send('POST /upload/confirm', referenceOf(object))).json).toEqual(confirmed.json)

      const key = encodeURIComponent(object.key)
      expect((await send(`GET /db/object?key=${key}`)).json).toEqual(confirmed.json)
      const { url } = (await send(`GET /download?key=${key}`)).json as { url: string }
      const download = await fetch(url)
      expect(download.headers.get('content-type')).toBe('image/png')
      expect(download.headers.get('content-length')).toBe(String(size))
      expect(download.headers.get('content-disposition')).toContain('attachment')
      expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)
      const file = await send(`GET /file?id=${object.id}&disposition=inline`)
      expect(file).toMatchObject({ status: 302, text: '' })
      const described = await send(`HEAD /file?key=${key}&disposition=inline`)
      expect(described.headers.get('content-length')).toBe(String(size))
      const shown = await fetch(new URL(file.headers.get('location')!, `${baseURL}/file`))
      for (const name of ['content-type', 'content-disposition']) {
        expect(described.headers.get(name)).toBe(shown.headers.get(name))
      }
      expect(shown.headers.get('content-disposition')).toContain('inline')
      expect(shown.headers.get('cache-control')).toMatch(/^private, immutable, max-age=[6-9]\d\d$/)
      expect(Buffer.from(await shown.arrayBuffer()).equals(bytes)).toBe(true)
      const part = await fetch(url, { headers: { range: 'bytes=1-2' } })
      expect(part.status).toBe(size > 0 ? 206 : 416)
      if (size > 0) expect([...new Uint8Array(await part.arrayBuffer())]).toEqual([7, 14])
      const known = await fetch(url, { headers: { 'if-none-match': download.headers.get('etag')! } })
      expect([known.status, await known.text()]).toEqual([304, ''])
      const head = await fetch(url, { method: 'HEAD' })
      if (bucket.servesHead) expect(head.headers.get('content-length')).toBe(String(size))
      else expect(head.status).toBe(403)

      const removed = await send(`DELETE /object?key=${key}`)
      expect(removed).toMatchObject({ status: 204, text: '' })
      expect((await send(`DELETE /object?key=${key}`)).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      expect((await send(`GET /db/object?key=${key}`)).status).toBe(404)
      const deleted = await fetch(url)
      expect(deleted.status).toBe(bucket.deletedObject)
      if (deleted.ok) expect(await deleted.text()).toBe('')
    })

    it('that is never uploaded', async () => {
      const { object } = await begin(3)
      expect((await send('POST /upload/confirm', referenceOf(object))).json).toEqual(
        errorOf('UPLOAD_MISMATCH'),
      )
      expect(await send('POST /upload/abort', referenceOf(object))).toMatchObject({ status: 204, text: '' })
      expect((await send('POST /upload/confirm', referenceOf(object))).json).toEqual(
        errorOf('OBJECT_NOT_FOUND'),
      )
    })

    it('with bytes of a wrong size', async () => {
      const { object, upload } = await begin(3)
      for (const size of [0, 2, 4, 300_000]) {
        const response = await put(upload, new Uint8Array(size))
        const text = await response.text()
        const body: unknown = bucket.urlStart === null ? JSON.parse(text) : text
        expect({ status: response.status, body }).toEqual(bucket.wrongSize)
      }
      expect((await put(upload, new Uint8Array(3))).status).toBe(200)
      expect((await put(upload, new Uint8Array(3))).status).toBe(bucket.secondUpload)
      expect((await send('POST /upload/confirm', referenceOf(object))).status).toBe(200)
    })
  })
}
