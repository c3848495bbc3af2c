import { s3Storage } from '@svc/db/s3'
import fc from 'fast-check'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import { HOUR, MINUTE } from '../../conformance/clock.js'
import { downloadFrom, get, put, uploadTo } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { anyText } from '../../unit/storage/object-storage-contract/any-text.js'

describeS3('the download URLs of s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const storage = s3Storage({ client })
  const download = downloadFrom(bucket, 'a/b')
  afterEach(() => vi.useRealTimers())
  beforeAll(async () => {
    await put(await storage.signUpload({ ...uploadTo(bucket, 'a/b'), contentType: 'text/html' }))
  })

  it('return the bytes as an attachment that is not cached', async () => {
    const { url } = await storage.signDownload(download)
    const { status, headers, body } = await get(url)
    expect({ status, body }).toEqual({ status: 200, body: 'hello' })
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-length': '5',
      'content-type': 'text/plain',
      'content-disposition': `attachment; filename="a.txt"; filename*=UTF-8''a.txt`,
      'cache-control': 'private, no-store',
    })
  })

  it('can be shown in place and cached, and stay the same for the same signedAt', async () => {
    const signedAt = new Date(Date.now() - HOUR)
    const input = {
      ...download,
      signedAt,
      expiresAt: new Date(signedAt.getTime() + 3 * HOUR),
      disposition: 'inline',
      cacheControl: 'private, immutable, max-age=60',
    } as const
    const { url } = await storage.signDownload(input)
    expect(Object.fromEntries((await get(url)).headers)).toMatchObject({
      'content-disposition': `inline; filename="a.txt"; filename*=UTF-8''a.txt`,
      'cache-control': 'private, immutable, max-age=60',
    })
    expect(new URL(url).searchParams.get('response-cache-control')).toBe('private, immutable, max-age=60')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 15_400 })
    expect((await storage.signDownload(input)).url).toBe(url)
    expect((await s3Storage({ client }).signDownload(input)).url).toBe(url)
  })

  it('return byte ranges', async () => {
    const { url } = await storage.signDownload(download)
    const response = await fetch(url, { headers: { range: 'bytes=1-3' } })
    expect([response.status, await response.text()]).toEqual([206, 'ell'])
  })

  it.each([
    ['plain.txt', 'plain.txt', 'plain.txt'],
    ['"quoted"\\ 100%.txt', '_quoted__ 100_.txt', '%22quoted%22%5C%20100%25.txt'],
    ['größe \u{1F600}.txt', 'gr__e _.txt', 'gr%C3%B6%C3%9Fe%20%F0%9F%98%80.txt'],
    ['a\r\nset-cookie: x', 'a__set-cookie: x', 'a%0D%0Aset-cookie%3A%20x'],
  ])('contain the file name: %j', async (filename, ascii, encoded) => {
    const { url } = await storage.signDownload({ ...download, filename })
    const { headers } = await get(url)
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`,
    )
    expect(headers.has('set-cookie')).toBe(false)
  })

  it('preserve every file name that can be recorded', async () => {
    const name = anyText(60).filter((text) => !text.includes('\0'))
    await fc.assert(
      fc.asyncProperty(name, async (filename) => {
        const { url } = await storage.signDownload({ ...download, filename })
        const header = (await get(url)).headers.get('content-disposition') ?? ''
        expect(decodeURIComponent(/filename\*=UTF-8''(.*)$/.exec(header)?.[1] ?? '')).toBe(filename)
      }),
      { numRuns: 10 },
    )
  })

  it.each([
    ['x'.repeat(251) + '.txt', 'x'.repeat(251) + '.txt'],
    ['x'.repeat(252) + '.txt', 'x'.repeat(251) + '.txt'],
    ['\u{1F600}'.repeat(1020) + '.txt', '\u{1F600}'.repeat(33) + '.txt'],
    ['\u{1F600}'.repeat(1024), '\u{1F600}'.repeat(33)],
    [`.${' '.repeat(1023)}`, `.${' '.repeat(133)}`],
    [`a.${'é'.repeat(1022)}`, `a.${'é'.repeat(66)}`],
    ['"'.repeat(1024), '"'.repeat(133)],
  ])('shorten a file name that is too long for file systems and URLs: %#', async (filename, expected) => {
    const key = '%'.repeat(1024)
    await put(await storage.signUpload(uploadTo(bucket, key)))
    const { url } = await storage.signDownload({ ...download, key, filename })
    const { status, headers } = await get(url)
    expect(status).toBe(200)
    const [, encoded = ''] = /filename\*=UTF-8''(.*)$/.exec(headers.get('content-disposition')!)!
    expect(decodeURIComponent(encoded)).toBe(expected)
  })

  it.each([
    [null, 'application/octet-stream'],
    ['', 'application/octet-stream'],
    ['text/html\r\nset-cookie: x', 'application/octet-stream'],
    ['text/plain; charset="utf-8"', 'text/plain; charset="utf-8"'],
  ])('contain the recorded type if it is a valid header value: %j', async (contentType, header) => {
    const { url } = await storage.signDownload({ ...download, contentType })
    expect((await get(url)).headers.get('content-type')).toBe(header)
  })

  it('expire', async () => {
    const expiresAt = new Date(Date.now() - MINUTE)
    for (const terms of [{ expiresAt }, { expiresAt, signedAt: new Date(Date.now() - HOUR) }]) {
      const { url } = await storage.signDownload({ ...download, ...terms })
      expect(await get(url)).toMatchObject({ status: 403 })
    }
  })

  it('are invalid after any change', async () => {
    const { url } = await storage.signDownload(download)
    const changed = [
      url.replace('/a/b?', '/a/c?'),
      url.replace('a.txt', 'b.txt'),
      url.replace('text%2Fplain', 'text%2Fhtml'),
      url.replace(/&response-content-disposition=[^&]*/, ''),
      url.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=3600'),
      `${url}&response-content-type=text%2Fhtml`,
    ]
    for (const other of changed) {
      expect(other).not.toBe(url)
      expect([(await get(other)).status, other]).toEqual([403, other])
    }
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(403)
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403)
    expect((await get(url)).body).toBe('hello')
  })

  it('return 404 for a missing object', async () => {
    const { url } = await storage.signDownload(downloadFrom(bucket, 'nothing'))
    expect(await get(url)).toMatchObject({ status: 404, code: 'NoSuchKey' })
  })
})
