import { beforeAll, describe, expect, it } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { errorOf, exchange, type Ask } from './exchange.js'
import { serverWithObjects, type Serve, type UploadPlace } from './fixture.js'

interface Begun {
  readonly object: DbClientObject
  readonly upload: { readonly method: string; readonly url: string; readonly headers: Record<string, string> }
}

/** A bucket, and what it makes of signed URLs in its own way. */
export interface BucketManners {
  readonly place?: UploadPlace
  /** Where its signed URLs begin; `null`: at the server itself. */
  readonly urlStart: string | null
  /** Whether a URL that was signed for GET is good for HEAD. */
  readonly servesHead: boolean
  /** How it refuses other bytes than were announced, and a second upload. */
  readonly otherSize: { readonly status: number; readonly body: unknown }
  readonly taken: number
}

export const SERVED_BY_THE_SERVER: BucketManners = {
  urlStart: null,
  servesHead: true,
  otherSize: { status: 400, body: errorOf('VALIDATION_ERROR', 'body') },
  taken: 409,
}

/** An object from its upload to its end, as a browser would go about it. */
export function describeObjectLife(serve: Serve, bucket: BucketManners = SERVED_BY_THE_SERVER): void {
  describe('the life of an object', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects(bucket.place))
    })

    async function begin(size: number, contentType = 'image/png'): Promise<Begun> {
      const json = { filename: 'Foto ☀.png', contentType, size }
      const answer = await exchange(baseURL, { request: 'POST /upload', json })
      expect(answer.status).toBe(201)
      return answer.json as Begun
    }
    const put = ({ url, method, headers }: Begun['upload'], body: Uint8Array<ArrayBuffer>) =>
      fetch(url, { method, headers, body })
    const ask = (request: string, json?: Ask['json']) =>
      exchange(baseURL, json === undefined ? { request } : { request, json })
    const named = ({ key, id }: DbClientObject) => ({ key, id })

    it.each([0, 1, 3, 300_000])('with %d bytes', async (size) => {
      const bytes = new Uint8Array(size).map((_, i) => i * 7)
      const { object, upload } = await begin(size)
      expect(object).toMatchObject({ status: 'pending', declaredSize: size })
      expect(upload.url.startsWith(bucket.urlStart ?? `${baseURL}/_storage/`)).toBe(true)
      expect((await put(upload, bytes)).status).toBe(200)

      const confirmed = await ask('POST /upload/confirm', named(object))
      expect(confirmed.status).toBe(200)
      expect(confirmed.json).toMatchObject({ object: { id: object.id, status: 'active', size } })
      expect((await ask('POST /upload/confirm', named(object))).json).toEqual(confirmed.json)

      const key = encodeURIComponent(object.key)
      expect((await ask(`GET /db/object?key=${key}`)).json).toEqual(confirmed.json)
      const { url } = (await ask(`GET /download?key=${key}`)).json as { url: string }
      const download = await fetch(url)
      expect(download.headers.get('content-type')).toBe('image/png')
      expect(download.headers.get('content-length')).toBe(String(size))
      expect(download.headers.get('content-disposition')).toContain('attachment')
      expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)
      const head = await fetch(url, { method: 'HEAD' })
      if (bucket.servesHead) expect(head.headers.get('content-length')).toBe(String(size))
      else expect(head.status).toBe(403)

      const removed = await ask(`DELETE /object?key=${key}`)
      expect(removed).toMatchObject({ status: 204, text: '' })
      expect((await ask(`DELETE /object?key=${key}`)).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      expect((await ask(`GET /db/object?key=${key}`)).status).toBe(404)
      expect((await fetch(url)).status).toBe(404)
    })

    it('that is never uploaded', async () => {
      const { object } = await begin(3)
      expect((await ask('POST /upload/confirm', named(object))).json).toEqual(errorOf('UPLOAD_MISMATCH'))
      expect(await ask('POST /upload/abort', named(object))).toMatchObject({ status: 204, text: '' })
      expect((await ask('POST /upload/confirm', named(object))).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
    })

    it('of which other bytes are sent than were announced', async () => {
      const { object, upload } = await begin(3)
      for (const size of [0, 2, 4, 300_000]) {
        const response = await put(upload, new Uint8Array(size))
        const text = await response.text()
        const body: unknown = bucket.urlStart === null ? JSON.parse(text) : text
        expect({ status: response.status, body }).toEqual(bucket.otherSize)
      }
      expect((await put(upload, new Uint8Array(3))).status).toBe(200)
      expect((await put(upload, new Uint8Array(3))).status).toBe(bucket.taken)
      expect((await ask('POST /upload/confirm', named(object))).status).toBe(200)
    })
  })
}
