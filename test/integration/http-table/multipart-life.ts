import { beforeAll, describe, expect, it } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { errorOf, exchange, type ExchangeRequest } from './exchange.js'
import { openInMemory, serverWithObjects, type Serve } from './fixture.js'
import { SERVED_BY_THE_SERVER, type BucketBehavior } from './object-life.js'

const PART = 8 * 1024 ** 2

interface Begun {
  readonly object: DbClientObject
  readonly uploadId: string
  readonly partSize: number
}

interface Signed {
  readonly parts: readonly { readonly partNumber: number; readonly url: string; readonly expiresAt: string }[]
}

/** In bytes. The last fills a part of the default size, which costs a second. */
export const ONE_AND_TWO_PARTS: readonly number[] = [3, PART + 3]

/** Tests the lifecycle of a multipart upload of each of these sizes, as a browser performs it. */
export function describeMultipartLife(
  serve: Serve,
  bucket: BucketBehavior = SERVED_BY_THE_SERVER,
  open = openInMemory,
  sizes = ONE_AND_TWO_PARTS,
): void {
  describe('the lifecycle of a multipart upload', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects(bucket.target, open))
    })

    const send = (request: string, json: ExchangeRequest['json'], as?: string) =>
      exchange(baseURL, { request, json, ...(as !== undefined && { as }) })
    async function begin(size: number): Promise<Begun> {
      const response = await send('POST /multipart', {
        filename: 'Film ☀.mp4',
        contentType: 'video/mp4',
        size,
      })
      expect(response.status).toBe(201)
      return response.json as Begun
    }
    const referenceOf = ({ object: { key, id }, uploadId }: Begun) => ({ key, id, uploadId })
    async function sign(begun: Begun, partNumbers: readonly number[]): Promise<readonly string[]> {
      const response = await send('POST /multipart/parts', { ...referenceOf(begun), partNumbers })
      expect(response.status).toBe(200)
      return (response.json as Signed).parts.map(({ url }) => url)
    }
    // Without a type, like XMLHttpRequest sends a slice of a file.
    const put = (url: string, body: Uint8Array<ArrayBuffer>) =>
      fetch(url, { method: 'PUT', body: new Blob([body]) })

    it('with 0 bytes, which has no part to send', async () => {
      const begun = await begin(0)
      const refused = await send('POST /multipart/parts', { ...referenceOf(begun), partNumbers: [1] })
      expect([refused.status, refused.json]).toEqual([400, errorOf('VALIDATION_ERROR', 'partNumbers')])
      const completed = await send('POST /multipart/complete', referenceOf(begun))
      expect(completed).toMatchObject({ status: 200, json: { object: { status: 'active', size: 0 } } })
      expect((await send('POST /multipart/complete', referenceOf(begun))).json).toEqual(completed.json)
    })

    it.each(sizes)('with %d bytes', async (size) => {
      const begun = await begin(size)
      expect(begun).toMatchObject({ object: { status: 'pending', declaredSize: size }, partSize: PART })
      const bytes = new Uint8Array(size).map((_, i) => i >> 8)
      const numbers = size > PART ? [2, 1] : [1]
      for (const [index, url] of (await sign(begun, numbers)).entries()) {
        expect(url.startsWith(bucket.urlStart ?? `${baseURL}/_storage/`)).toBe(true)
        const number = numbers[index]!
        const part = bytes.slice((number - 1) * PART, number * PART)
        expect((await put(url, part)).status).toBe(200)
        if (size <= 3) expect((await put(url, part)).status).toBe(200)
      }
      const listed = await send('POST /multipart/list', referenceOf(begun))
      const sizes = size > PART ? [PART, 3] : [size]
      expect(listed).toMatchObject({ status: 200 })
      expect(listed.json).toEqual({
        partSize: PART,
        parts: sizes.map((partBytes, index) => ({ partNumber: index + 1, size: partBytes })),
      })

      const completed = await send('POST /multipart/complete', referenceOf(begun))
      expect(completed.status).toBe(200)
      expect(completed.json).toMatchObject({ object: { id: begun.object.id, status: 'active', size } })
      expect((await send('POST /multipart/complete', referenceOf(begun))).json).toEqual(completed.json)
      expect((await send('POST /multipart/list', referenceOf(begun))).json).toEqual(
        errorOf('OBJECT_NOT_FOUND'),
      )

      const key = encodeURIComponent(begun.object.key)
      const { url } = (await exchange(baseURL, { request: `GET /download?key=${key}` })).json as {
        url: string
      }
      const download = await fetch(url)
      expect(download.headers.get('content-type')).toBe('video/mp4')
      expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)
    })

    it('that is aborted', async () => {
      const begun = await begin(PART + 1)
      const [url = ''] = await sign(begun, [2])
      expect((await put(url, new Uint8Array(1))).status).toBe(200)
      expect((await send('POST /multipart/complete', referenceOf(begun))).json).toEqual(
        errorOf('UPLOAD_MISMATCH'),
      )
      expect(await send('POST /multipart/abort', referenceOf(begun))).toMatchObject({ status: 204, text: '' })
      expect((await send('POST /multipart/abort', referenceOf(begun))).json).toEqual(
        errorOf('OBJECT_NOT_FOUND'),
      )
      expect((await put(url, new Uint8Array(1))).status).toBe(404)
    })

    it('with parts of a wrong size', async () => {
      const begun = await begin(3)
      const [url = ''] = await sign(begun, [1])
      for (const size of [0, 2, 4, 300_000]) {
        const response = await put(url, new Uint8Array(size))
        const text = await response.text()
        const body: unknown = bucket.urlStart === null ? JSON.parse(text) : text
        expect({ status: response.status, body }).toEqual(bucket.wrongSize)
      }
    })

    it('is not accessible to other scopes', async () => {
      const begun = await begin(3)
      for (const verb of ['parts', 'list', 'complete', 'abort']) {
        const others = await send(
          `POST /multipart/${verb}`,
          { ...referenceOf(begun), partNumbers: [1] },
          'user:2',
        )
        expect(others).toMatchObject({ status: 404, json: errorOf('OBJECT_NOT_FOUND') })
        const uploadId = 'made up'
        const none = await send(`POST /multipart/${verb}`, {
          ...referenceOf(begun),
          uploadId,
          partNumbers: [1],
        })
        expect(none.json).toEqual(others.json)
      }
      for (const verb of ['confirm', 'abort']) {
        const { key, id } = begun.object
        expect((await send(`POST /upload/${verb}`, { key, id })).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      }
    })

    it('refuses invalid input and names the field', async () => {
      const begun = await begin(3)
      const wrong = [
        ['parts', { partNumbers: [2] }, 'partNumbers'],
        ['parts', { partNumbers: [] }, 'partNumbers'],
        ['parts', { partNumbers: [1], id: 'x' }, 'id'],
        ['list', { after: -1 }, 'after'],
        ['complete', { uploadId: '' }, 'uploadId'],
        ['abort', { key: null }, 'key'],
      ] as const
      for (const [verb, input, field] of wrong) {
        const response = await send(`POST /multipart/${verb}`, { ...referenceOf(begun), ...input })
        expect(response).toMatchObject({ status: 400, json: errorOf('VALIDATION_ERROR', field) })
      }
      const size = 5 * 1024 ** 4 + 1
      const tooLarge = await send('POST /multipart', { filename: 'a', contentType: 'a/b', size })
      expect(tooLarge).toMatchObject({ status: 413, json: errorOf('FILE_TOO_LARGE') })
    })
  })
}
