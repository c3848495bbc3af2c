import { createAttemptId, memoryStorage } from '@svc/db'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../conformance/clock.js'
import { bucketService, codeOf, HELLO, SERVER_URL } from './bucket-service.js'

describe('memoryStorage', () => {
  it('keeps what is uploaded, knows what it is, and gives it back', async () => {
    const { storage, upload, download, put, get, attemptId } = bucketService()
    const stored = await put(upload, HELLO)
    expect(stored.status).toBe(200)
    expect(await storage.head(upload)).toEqual({
      size: 5,
      contentType: 'text/plain',
      eTag: stored.headers.get('etag'),
      attemptId,
    })
    expect(stored.headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/)

    const response = await get(download)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'private, no-store',
      'content-type': 'text/plain',
      'content-length': '5',
      'content-disposition': `attachment; filename="b.txt"; filename*=UTF-8''b.txt`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
    expect(await response.text()).toBe('hello')
  })

  it('answers HEAD with the headers of GET, and no body', async () => {
    const { upload, download, put, get } = bucketService()
    await put(upload, HELLO)
    const response = await get(download, 'HEAD')
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      '5',
      '',
    ])
  })

  it('has nothing where nothing was uploaded, or where it was removed', async () => {
    const { storage, upload, download, put, get } = bucketService()
    expect(await storage.head(upload)).toBeNull()
    expect(await codeOf(await get(download))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    await put(upload, HELLO)
    await storage.remove(upload)
    await storage.remove(upload)
    expect(await storage.head(upload)).toBeNull()
    expect(await storage.head({ bucket: 'other', key: 'a/b' })).toBeNull()
  })

  it('keeps places apart, whatever their names', async () => {
    const { storage, upload, put } = bucketService()
    await put({ ...upload, bucket: 'a', key: 'b/c' }, HELLO)
    expect(await storage.head({ bucket: 'a/b', key: 'c' })).toBeNull()
    expect(await storage.head({ bucket: 'a', key: 'b/c' })).not.toBeNull()
  })

  it('takes a file of 0 bytes', async () => {
    const { storage, upload, put } = bucketService()
    expect((await put({ ...upload, size: 0 }, null)).status).toBe(200)
    expect(await storage.head(upload)).toMatchObject({ size: 0 })
  })

  it('stops where the caller has', async () => {
    const { storage, upload, download } = bucketService()
    const signal = AbortSignal.abort(new Error('gone'))
    const calls = [
      storage.signUpload({ ...upload, signal }),
      storage.signDownload({ ...download, signal }),
      storage.head({ ...upload, signal }),
      storage.remove({ ...upload, signal }),
    ]
    for (const call of calls) await expect(call).rejects.toThrow('gone')
  })
})

describe('its upload URLs', () => {
  it('write once', async () => {
    const { storage, upload, put } = bucketService()
    expect((await put(upload, HELLO)).status).toBe(200)
    const before = await storage.head(upload)
    expect(await codeOf(await put(upload, new TextEncoder().encode('HELLO')))).toEqual([
      409,
      'KEY_CONFLICT',
      undefined,
    ])
    expect(await storage.head(upload)).toEqual(before)
  })

  it('write once when they are used at the same moment', async () => {
    const { upload, put } = bucketService()
    const answers = await Promise.all(Array.from({ length: 8 }, () => put(upload, HELLO)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)])
  })

  it.each([
    ['a byte less', 'hell'],
    ['a byte more', 'hello!'],
    ['nothing', ''],
  ])('take just the signed number of bytes, not %s', async (_, body) => {
    const { storage, upload, put } = bucketService()
    expect(await codeOf(await put(upload, body))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    expect(await storage.head(upload)).toBeNull()
  })

  it.each([
    ['content-type', { 'content-type': 'text/html' }],
    ['content-type', { 'content-type': 'text/plain; charset=utf-8' }],
    ['if-none-match', { 'if-none-match': '"x"' }],
    ['x-amz-meta-attempt-id', { 'x-amz-meta-attempt-id': createAttemptId() }],
    ['body', { 'content-length': '4' }],
  ])('take just the signed headers: %s', async (field, headers) => {
    const { storage, upload, put } = bucketService()
    expect(await codeOf(await put(upload, HELLO, headers))).toEqual([400, 'VALIDATION_ERROR', field])
    expect(await storage.head(upload)).toBeNull()
  })

  it('refuse an upload that leaves a header out', async () => {
    const { storage, handler, upload } = bucketService()
    const { url, headers } = await storage.signUpload(upload)
    for (const name of Object.keys(headers)) {
      const rest = Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
      const response = await handler(new Request(url, { method: 'PUT', headers: rest, body: HELLO }))
      expect(await codeOf(response)).toEqual([400, 'VALIDATION_ERROR', name])
    }
  })

  it('read no further than they must', async () => {
    const { upload, put } = bucketService()
    let chunks = 0
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          chunks++
          controller.enqueue(new Uint8Array(1))
        },
        cancel() {
          cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    expect(await codeOf(await put(upload, endless))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    expect({ chunks, cancelled }).toEqual({ chunks: 6, cancelled: true })
  })

  it('tell of a body that breaks off', async () => {
    const { storage, upload, put } = bucketService()
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('reset')),
    })
    expect(await codeOf(await put(upload, broken))).toEqual([400, 'VALIDATION_ERROR', 'body'])
    expect(await storage.head(upload)).toBeNull()
  })

  it('take bytes that a parser kept, and refuse what any other made of them', async () => {
    const { storage, handler, upload, download, get } = bucketService()
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

describe('its signatures', () => {
  it('end with their time', async () => {
    const { clock, handler, storage, upload, download, put } = bucketService()
    await put(upload, HELLO)
    const { url } = await storage.signDownload(download)
    const { url: second, headers } = await storage.signUpload({ ...upload, key: 'c' })
    clock.advance(MINUTE - 1)
    expect((await handler(new Request(url))).status).toBe(200)
    clock.advance(1)
    expect(await codeOf(await handler(new Request(url)))).toEqual([403, 'FORBIDDEN', undefined])
    const late = new Request(second, { method: 'PUT', headers, body: HELLO })
    expect(await codeOf(await handler(late))).toEqual([403, 'FORBIDDEN', undefined])
  })

  it('are for one method', async () => {
    const { handler, storage, upload, download, put } = bucketService()
    await put(upload, HELLO)
    const { url: writes, headers } = await storage.signUpload(upload)
    const { url: reads } = await storage.signDownload(download)
    const crossed = [
      new Request(writes),
      new Request(writes, { method: 'HEAD' }),
      new Request(reads, { method: 'PUT', headers, body: HELLO }),
    ]
    for (const request of crossed) expect((await handler(request)).status).toBe(403)
    for (const method of ['POST', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await handler(new Request(reads, { method }))
      expect(await codeOf(response)).toEqual([405, 'METHOD_NOT_ALLOWED', undefined])
      expect(response.headers.get('allow')).toBe('GET, HEAD, PUT')
    }
  })

  it('are of one storage', async () => {
    const one = bucketService()
    const other = bucketService()
    await other.put(other.upload, HELLO)
    const { url } = await one.storage.signDownload(one.download)
    expect((await other.handler(new Request(url))).status).toBe(403)
  })

  it('break with every change of the URL', async () => {
    const { handler, storage, upload, download, put } = bucketService()
    await put(upload, HELLO)
    const { url } = await storage.signDownload(download)
    const start = SERVER_URL.length + 1
    await fc.assert(
      fc.asyncProperty(
        // The last character of a base64 text has bits that mean nothing.
        fc.integer({ min: start, max: url.length - 2 }),
        fc.constantFrom(...'aZ09-_.'),
        async (at, character) => {
          fc.pre(url[at] !== character)
          const changed = url.slice(0, at) + character + url.slice(at + 1)
          expect((await handler(new Request(changed))).status).toBe(403)
        },
      ),
    )
    for (const changed of [
      `${url}.`,
      `${url}.x`,
      `${url}/`,
      url.slice(0, -2),
      `${SERVER_URL}/`,
      `${SERVER_URL}/.`,
      `${SERVER_URL}/%00`,
    ]) {
      expect((await handler(new Request(changed))).status).toBe(403)
    }
  })

  it('lead below the URL of the server, or below baseURL where there is one', async () => {
    const { storage, upload } = bucketService({ baseURL: 'https://cdn.example/bucket/' })
    expect((await storage.signUpload(upload)).url).toMatch(/^https:\/\/cdn\.example\/bucket\/[\w.-]+$/)
    expect((await bucketService().storage.signUpload(upload)).url.startsWith(`${SERVER_URL}/`)).toBe(true)
  })

  it.each([
    '',
    'cdn.example',
    '/storage',
    'ftp://cdn.example',
    'https://cdn.example/?a',
    'https://cdn.example/#a',
    7,
  ])('need a baseURL that is absolute: %j', (baseURL) => {
    expect(() => memoryStorage({ baseURL: baseURL as string })).toThrow(/^memoryStorage: baseURL/)
  })

  it('go by the clock of the system unless they are given one', async () => {
    const { handler, storage, download } = bucketService({ now: null })
    const inAMinute = new Date(Date.now() + MINUTE)
    const { url } = await storage.signDownload({ ...download, expiresAt: inAMinute })
    expect((await handler(new Request(url))).status).toBe(404)
  })
})
