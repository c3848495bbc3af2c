import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../conformance/clock.js'
import { bucketService, codeOf, HELLO, SERVER_URL } from './bucket-service.js'
import { storages } from './storages.js'

describe.each(storages)('the signatures of $name', (kind) => {
  it('expire', async () => {
    const { clock, handler, storage, upload, download, put } = bucketService(kind)
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

  it('are the same for the same input with signedAt', async () => {
    const { clock, storage, download } = bucketService(kind)
    const input = {
      ...download,
      signedAt: clock.now(),
      cacheControl: 'private',
      disposition: 'inline',
    } as const
    const { url } = await storage.signDownload(input)
    clock.advance(MINUTE / 3)
    expect((await storage.signDownload(input)).url).toBe(url)
    const others = [
      { key: 'c' },
      { disposition: 'attachment' },
      { cacheControl: null },
      { filename: 'c' },
    ] as const
    for (const other of others) expect((await storage.signDownload({ ...input, ...other })).url).not.toBe(url)
  })

  it('are valid for one method', async () => {
    const { handler, storage, upload, download, put } = bucketService(kind)
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

  it('are valid for one storage', async () => {
    const one = bucketService(kind)
    const other = bucketService(kind)
    await other.put(other.upload, HELLO)
    const { url } = await one.storage.signDownload(one.download)
    expect((await other.handler(new Request(url))).status).toBe(403)
  })

  it('are invalid after any change of the URL', async () => {
    const { handler, storage, upload, download, put } = bucketService(kind)
    await put(upload, HELLO)
    const { url } = await storage.signDownload(download)
    const start = SERVER_URL.length + 1
    await fc.assert(
      fc.asyncProperty(
        // The last base64 character has unused bits.
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

  it('are part of URLs below the server URL, or below baseURL if set', async () => {
    const { storage, upload } = bucketService(kind, { baseURL: 'https://cdn.example/bucket/' })
    expect((await storage.signUpload(upload)).url).toMatch(/^https:\/\/cdn\.example\/bucket\/[\w.-]+\?fixed$/)
    expect((await bucketService(kind).storage.signUpload(upload)).url.startsWith(`${SERVER_URL}/`)).toBe(true)
  })

  it.each([
    '',
    'cdn.example',
    '/storage',
    'ftp://cdn.example',
    'https://cdn.example/?a',
    'https://cdn.example/#a',
    7,
  ])('require an absolute baseURL: %j', (baseURL) => {
    expect(() => kind.open({ baseURL: baseURL as string })).toThrow(
      new RegExp(`^${kind.name}: baseURL must be an absolute`),
    )
  })

  it('require a function as clock', () => {
    const now = new Date() as unknown as () => Date
    expect(() => kind.open({ now })).toThrow(`${kind.name}: now must be a function (got an object).`)
  })

  it('use the system clock by default', async () => {
    const { handler, storage, download } = bucketService(kind, { now: null })
    const inAMinute = new Date(Date.now() + MINUTE)
    const { url } = await storage.signDownload({ ...download, expiresAt: inAMinute })
    expect((await handler(new Request(url))).status).toBe(404)
  })
})
