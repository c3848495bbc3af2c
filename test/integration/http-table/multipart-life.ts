import { beforeAll, describe, expect, it } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { errorOf, exchange, type Ask } from './exchange.js'
import { serverWithObjects, type Serve } from './fixture.js'
import { SERVED_BY_THE_SERVER, type BucketManners } from './object-life.js'

const PART = 8 * 1024 ** 2

interface Begun {
  readonly object: DbClientObject
  readonly uploadId: string
  readonly partSize: number
}

interface Signed {
  readonly parts: readonly { readonly partNumber: number; readonly url: string; readonly expiresAt: string }[]
}

/** An object that comes in parts, as a browser would go about it. */
export function describeMultipartLife(serve: Serve, bucket: BucketManners = SERVED_BY_THE_SERVER): void {
  describe('the life of an object that comes in parts', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects(bucket.place))
    })

    const ask = (request: string, json: Ask['json'], as?: string) =>
      exchange(baseURL, { request, json, ...(as !== undefined && { as }) })
    async function begin(size: number): Promise<Begun> {
      const answer = await ask('POST /multipart', { filename: 'Film ☀.mp4', contentType: 'video/mp4', size })
      expect(answer.status).toBe(201)
      return answer.json as Begun
    }
    const named = ({ object: { key, id }, uploadId }: Begun) => ({ key, id, uploadId })
    async function sign(begun: Begun, partNumbers: readonly number[]): Promise<readonly string[]> {
      const answer = await ask('POST /multipart/parts', { ...named(begun), partNumbers })
      expect(answer.status).toBe(200)
      return (answer.json as Signed).parts.map(({ url }) => url)
    }
    // As XMLHttpRequest sends a slice of a file: without a type.
    const put = (url: string, body: Uint8Array<ArrayBuffer>) =>
      fetch(url, { method: 'PUT', body: new Blob([body]) })

    it.each([0, 3, PART + 3])('with %d bytes', async (size) => {
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
      const listed = await ask('POST /multipart/list', named(begun))
      const sizes = size > PART ? [PART, 3] : [size]
      expect(listed).toMatchObject({ status: 200 })
      expect(listed.json).toEqual({
        partSize: PART,
        parts: sizes.map((partBytes, index) => ({ partNumber: index + 1, size: partBytes })),
      })

      const completed = await ask('POST /multipart/complete', named(begun))
      expect(completed.status).toBe(200)
      expect(completed.json).toMatchObject({ object: { id: begun.object.id, status: 'active', size } })
      expect((await ask('POST /multipart/complete', named(begun))).json).toEqual(completed.json)
      expect((await ask('POST /multipart/list', named(begun))).json).toEqual(errorOf('OBJECT_NOT_FOUND'))

      const key = encodeURIComponent(begun.object.key)
      const { url } = (await exchange(baseURL, { request: `GET /download?key=${key}` })).json as {
        url: string
      }
      const download = await fetch(url)
      expect(download.headers.get('content-type')).toBe('video/mp4')
      expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)
    })

    it('that is given up', async () => {
      const begun = await begin(PART + 1)
      const [url = ''] = await sign(begun, [2])
      expect((await put(url, new Uint8Array(1))).status).toBe(200)
      expect((await ask('POST /multipart/complete', named(begun))).json).toEqual(errorOf('UPLOAD_MISMATCH'))
      expect(await ask('POST /multipart/abort', named(begun))).toMatchObject({ status: 204, text: '' })
      expect((await ask('POST /multipart/abort', named(begun))).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      expect((await put(url, new Uint8Array(1))).status).toBe(404)
    })

    it('of which parts have other sizes than were signed', async () => {
      const begun = await begin(3)
      const [url = ''] = await sign(begun, [1])
      for (const size of [0, 2, 4, 300_000]) {
        const response = await put(url, new Uint8Array(size))
        const text = await response.text()
        const body: unknown = bucket.urlStart === null ? JSON.parse(text) : text
        expect({ status: response.status, body }).toEqual(bucket.otherSize)
      }
    })

    it('is nobody else’s', async () => {
      const begun = await begin(3)
      for (const verb of ['parts', 'list', 'complete', 'abort']) {
        const others = await ask(`POST /multipart/${verb}`, { ...named(begun), partNumbers: [1] }, 'user:2')
        expect(others).toMatchObject({ status: 404, json: errorOf('OBJECT_NOT_FOUND') })
        const uploadId = 'made up'
        const none = await ask(`POST /multipart/${verb}`, { ...named(begun), uploadId, partNumbers: [1] })
        expect(none.json).toEqual(others.json)
      }
      for (const verb of ['confirm', 'abort']) {
        const { key, id } = begun.object
        expect((await ask(`POST /upload/${verb}`, { key, id })).json).toEqual(errorOf('OBJECT_NOT_FOUND'))
      }
    })

    it('refuses what is wrong, and names it', async () => {
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
        const answer = await ask(`POST /multipart/${verb}`, { ...named(begun), ...input })
        expect(answer).toMatchObject({ status: 400, json: errorOf('VALIDATION_ERROR', field) })
      }
      const size = 5 * 1024 ** 4 + 1
      const tooLarge = await ask('POST /multipart', { filename: 'a', contentType: 'a/b', size })
      expect(tooLarge).toMatchObject({ status: 413, json: errorOf('FILE_TOO_LARGE') })
    })
  })
}
