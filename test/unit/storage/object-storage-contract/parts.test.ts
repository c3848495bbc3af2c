import type { StoredPart } from '@svc/db/adapter'
import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../conformance/clock.js'
import { bytesOfSize } from '../../server/service.js'
import { bucketService, codeOf, HELLO, SERVER_URL } from './bucket-service.js'
import { storages, type StorageKind } from './storages.js'

/** Creates a service with a multipart upload. */
async function begunUpload(kind: StorageKind) {
  const service = bucketService(kind)
  const { storage, handler, upload, clock } = service
  const multipart = storage.multipart!
  const at = { bucket: upload.bucket, key: upload.key }
  const { uploadId } = await multipart.create({
    ...at,
    contentType: 'text/plain',
    attemptId: upload.attemptId,
  })
  const reference = { ...at, uploadId }

  const urlOf = async (partNumber: number, size: number) =>
    (
      await multipart.signPart({
        ...reference,
        partNumber,
        size,
        expiresAt: clock.in(MINUTE),
        serverURL: SERVER_URL,
      })
    ).url
  const putTo = (url: string, body: BodyInit | null, headers: Record<string, string> = {}) =>
    handler(
      new Request(url, {
        method: 'PUT',
        body,
        headers,
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      }),
    )
  const put = async (partNumber: number, text: string) => putTo(await urlOf(partNumber, text.length), text)
  const stored = async (): Promise<readonly StoredPart[]> =>
    (await multipart.listParts({ ...reference, after: 0 }))!.parts
  const sizes = async () => (await stored()).map(({ partNumber, size }) => [partNumber, size])
  const content = async () => (await service.get(service.download)).text()
  return {
    ...service,
    putObject: service.put,
    multipart,
    at,
    reference,
    urlOf,
    putTo,
    put,
    stored,
    sizes,
    content,
  }
}

describe.each(storages)('multipart uploads of $name', (kind) => {
  it('become an object of all parts, and end', async () => {
    const { storage, multipart, at, reference, put, stored, content, attemptId } = await begunUpload(kind)
    expect((await put(2, 'lo')).status).toBe(200)
    const first = await put(1, 'hel')
    expect(first.headers.get('cache-control')).toBe('private, no-store')
    const parts = await stored()
    expect(parts).toEqual([
      { partNumber: 1, size: 3, eTag: first.headers.get('etag') },
      { partNumber: 2, size: 2, eTag: expect.any(String) as string },
    ])
    expect(await storage.head(at)).toBeNull()
    expect(await multipart.list(at)).toEqual([reference.uploadId])

    expect(await multipart.complete({ ...reference, parts })).toBe(true)
    expect(await content()).toBe('hello')
    const eTag = expect.stringMatching(/^"[0-9a-f]{64}"$/) as string
    expect(await storage.head(at)).toEqual({ size: 5, contentType: 'text/plain', eTag, attemptId })
    expect(await multipart.list(at)).toEqual([])
    expect(await multipart.listParts({ ...reference, after: 0 })).toBeNull()
    expect(await multipart.complete({ ...reference, parts })).toBe(false)
    expect(await codeOf(await put(1, 'HEL'))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    await multipart.abort(reference)
    expect(await content()).toBe('hello')
  })

  it('can have one empty part', async () => {
    const { storage, multipart, at, reference, urlOf, putTo, stored } = await begunUpload(kind)
    expect((await putTo(await urlOf(1, 0), null)).status).toBe(200)
    expect(await multipart.complete({ ...reference, parts: await stored() })).toBe(true)
    expect(await storage.head(at)).toMatchObject({ size: 0 })
  })

  it('store parts larger than the read buffer', async () => {
    const { multipart, reference, urlOf, putTo, stored, get, download } = await begunUpload(kind)
    const size = 300_001
    for (const number of [1, 2]) await putTo(await urlOf(number, size), bytesOfSize(size, number))
    expect(await multipart.complete({ ...reference, parts: await stored() })).toBe(true)
    const bytes = new Uint8Array(await (await get(download)).arrayBuffer())
    expect(Buffer.from(bytes).equals(Buffer.concat([bytesOfSize(size, 1), bytesOfSize(size, 2)]))).toBe(true)
  })

  it.each([
    ['a byte less', 'hell'],
    ['a byte more', 'hello!'],
    ['nothing', ''],
  ])('require the signed number of bytes, not %s', async (_, body) => {
    const { urlOf, putTo, sizes } = await begunUpload(kind)
    const url = await urlOf(1, 5)
    expect(await codeOf(await putTo(url, body))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    expect(await codeOf(await putTo(url, HELLO, { 'content-length': '4' }))).toEqual([
      400,
      'VALIDATION_ERROR',
      'body',
    ])
    expect(await sizes()).toEqual([])
    expect((await putTo(url, HELLO)).status).toBe(200)
    expect(await sizes()).toEqual([[1, 5]])
  })

  it('keep the previous part if a new one breaks off', async () => {
    const { urlOf, putTo, put, sizes, stored } = await begunUpload(kind)
    await put(1, 'hello')
    const before = await stored()
    const broken = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('HEL')),
      pull: (controller) => controller.error(new Error('reset')),
    })
    expect(await codeOf(await putTo(await urlOf(1, 5), broken))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    expect(await stored()).toEqual(before)
    await put(1, 'HELLO')
    expect(await sizes()).toEqual([[1, 5]])
    expect(await stored()).not.toEqual(before)
  })

  it('accept a URL until it expires, for PUT only', async () => {
    const { clock, urlOf, putTo, handler } = await begunUpload(kind)
    const url = await urlOf(1, 5)
    expect(await codeOf(await handler(new Request(url)))).toEqual([403, 'FORBIDDEN', undefined])
    const changed = url.replace(
      /\/([^/]*)$/,
      (_, claims: string) => `/${claims.slice(0, 8)}${'A'}${claims.slice(9)}`,
    )
    expect(await codeOf(await putTo(changed, HELLO))).toEqual([403, 'FORBIDDEN', undefined])
    clock.advance(MINUTE)
    expect(await codeOf(await putTo(url, HELLO))).toEqual([403, 'FORBIDDEN', undefined])
  })

  it('are completed from exactly the named parts', async () => {
    const { storage, multipart, at, reference, put, stored, content } = await begunUpload(kind)
    await put(1, 'hel')
    await put(2, 'lo')
    await put(3, 'more')
    const [one, two] = await stored()
    const missing = { partNumber: 4, eTag: one!.eTag }
    expect(await multipart.complete({ ...reference, parts: [one!, missing] })).toBe(false)
    expect(await multipart.complete({ ...reference, parts: [one!, { ...two!, eTag: '"other"' }] })).toBe(
      false,
    )
    expect(await storage.head(at)).toBeNull()
    expect(await stored()).toHaveLength(3)
    expect(await multipart.complete({ ...reference, parts: [one!, two!] })).toBe(true)
    expect(await content()).toBe('hello')
  })

  it('are completed once by concurrent calls', async () => {
    const { multipart, reference, put, stored, content } = await begunUpload(kind)
    await put(1, 'hello')
    const parts = await stored()
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => multipart.complete({ ...reference, parts })),
    )
    expect(responses.filter(Boolean)).toHaveLength(1)
    expect(await content()).toBe('hello')
  })

  it('never overwrite an object', async () => {
    const { multipart, reference, at, put, stored, upload, content, putObject } = await begunUpload(kind)
    await put(1, 'HELLO')
    const parts = await stored()
    await putObject(upload, HELLO)
    expect(await multipart.complete({ ...reference, parts })).toBe(false)
    expect(await multipart.listParts({ ...reference, after: 0 })).toBeNull()
    expect(await multipart.list(at)).toEqual([])
    expect(await codeOf(await put(1, 'HELLO'))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    expect(await content()).toBe('hello')
  })

  it('are removed with their parts by an abort, which is idempotent', async () => {
    const { multipart, reference, at, put, stored } = await begunUpload(kind)
    await put(1, 'hello')
    const parts = await stored()
    await multipart.abort(reference)
    await multipart.abort(reference)
    expect(await multipart.listParts({ ...reference, after: 0 })).toBeNull()
    expect(await multipart.list(at)).toEqual([])
    expect(await multipart.complete({ ...reference, parts })).toBe(false)
    expect(await codeOf(await put(1, 'hello'))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
  })

  it('refuse a part that was in transfer during an abort', async () => {
    const { multipart, reference, at, urlOf, putTo } = await begunUpload(kind)
    let finish = (): void => undefined
    const slow = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(HELLO.subarray(0, 3))
        finish = () => {
          controller.enqueue(HELLO.subarray(3))
          controller.close()
        }
      },
    })
    const url = await urlOf(1, 5)
    const response = putTo(url, slow)
    await multipart.abort(reference)
    finish()
    expect(await codeOf(await response)).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    expect(await multipart.list(at)).toEqual([])
  })

  it('can share a key, each with its own parts', async () => {
    const { multipart, reference, at, put, sizes } = await begunUpload(kind)
    const input = { ...at, contentType: 'text/plain', attemptId: 'other' }
    const other = await multipart.create(input)
    await put(1, 'hello')
    expect([...(await multipart.list(at))].sort()).toEqual([reference.uploadId, other.uploadId].sort())
    expect(await multipart.list({ ...at, key: `${at.key}/` })).toEqual([])
    expect(await multipart.list({ ...at, bucket: 'other' })).toEqual([])
    expect((await multipart.listParts({ ...at, ...other, after: 0 }))!.parts).toEqual([])
    await multipart.abort({ ...at, ...other })
    expect(await sizes()).toEqual([[1, 5]])
  })

  it.each(['', '.', '..', '../../signing-secret', 'x', '*', '\0', '__proto__', 'x'.repeat(1024)])(
    'refuse unknown upload ids: %j',
    async (uploadId) => {
      const { multipart, at, stored, put, reference } = await begunUpload(kind)
      await put(1, 'hello')
      expect(await multipart.listParts({ ...at, uploadId, after: 0 })).toBeNull()
      expect(await multipart.complete({ ...at, uploadId, parts: await stored() })).toBe(false)
      await multipart.abort({ ...at, uploadId })
      await multipart.abort({ bucket: 'other', key: at.key, uploadId: reference.uploadId })
      expect(await stored()).toHaveLength(1)
    },
  )
})
