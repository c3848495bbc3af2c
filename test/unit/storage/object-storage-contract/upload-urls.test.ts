import { createAttemptId } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { bucketService, codeOf, HELLO } from './bucket-service.js'
import { storages } from './storages.js'

describe.each(storages)('the upload URLs of $name', (kind) => {
  it.each([
    ['a byte less', 'hell'],
    ['a byte more', 'hello!'],
    ['nothing', ''],
  ])('require the signed number of bytes, not %s', async (_, body) => {
    const { storage, upload, put } = bucketService(kind)
    expect(await codeOf(await put(upload, body))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    expect(await storage.head(upload)).toBeNull()
  })

  it.each([
    ['content-type', { 'content-type': 'text/html' }],
    ['content-type', { 'content-type': 'text/plain; charset=utf-8' }],
    ['if-none-match', { 'if-none-match': '"x"' }],
    ['x-amz-meta-attempt-id', { 'x-amz-meta-attempt-id': createAttemptId() }],
    ['body', { 'content-length': '4' }],
  ])('require the signed headers: %s', async (field, headers) => {
    const { storage, upload, put } = bucketService(kind)
    expect(await codeOf(await put(upload, HELLO, headers))).toEqual([400, 'VALIDATION_ERROR', field])
    expect(await storage.head(upload)).toBeNull()
  })

  it('refuse an upload with a missing header', async () => {
    const { storage, handler, upload } = bucketService(kind)
    const { url, headers } = await storage.signUpload(upload)
    for (const name of Object.keys(headers)) {
      const rest = Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
      const response = await handler(new Request(url, { method: 'PUT', headers: rest, body: HELLO }))
      expect(await codeOf(response)).toEqual([400, 'VALIDATION_ERROR', name])
    }
  })

  it('discard at most 1 MiB of a body that is too long', async () => {
    const { upload, put } = bucketService(kind)
    let chunks = 0
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          chunks++
          controller.enqueue(new Uint8Array(2 ** 19))
        },
        cancel() {
          cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    expect(await codeOf(await put(upload, endless))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    await expect.poll(() => cancelled).toBe(true)
    expect(chunks).toBe(4)
  })

  it('accept the bytes of a raw body parser, and refuse the results of others', async () => {
    const { storage, handler, upload, download, get } = bucketService(kind)
    const { url, headers } = await storage.signUpload(upload)
    const through = (value: unknown) =>
      handler(new Request(url, { method: 'PUT', headers }), { body: { kind: 'parsed', value } })
    for (const value of [{}, 'hello', undefined, null, [104]]) {
      expect(await codeOf(await through(value))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    }
    const kept = new Uint8Array(HELLO)
    expect((await through(kept)).status).toBe(200)
    kept.fill(0)
    expect(await (await get(download)).text()).toBe('hello')
  })
})
