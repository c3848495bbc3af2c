import { memoryStorage } from '@svc/db'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { anyText } from './any-text.js'
import { bucketService, HELLO } from './bucket-service.js'

/** Both storages build these headers in one place. */
describe('the download headers of a storage that serves its own URLs', () => {
  const { upload, download, put, get } = bucketService({ open: memoryStorage })
  beforeAll(async () => void (await put(upload, HELLO)))
  const headersOf = async (terms: Partial<typeof download>) => (await get({ ...download, ...terms })).headers

  it.each([
    ['plain.txt', 'plain.txt', 'plain.txt'],
    ['two words.txt', 'two words.txt', 'two%20words.txt'],
    ['"quoted"\\.txt', '_quoted__.txt', '%22quoted%22%5C.txt'],
    ['100%.txt', '100_.txt', '100%25.txt'],
    ["it's (*).txt", "it's (*).txt", 'it%27s%20%28%2A%29.txt'],
    ['größe.txt', 'gr__e.txt', 'gr%C3%B6%C3%9Fe.txt'],
    ['a\r\nset-cookie: x', 'a__set-cookie: x', 'a%0D%0Aset-cookie%3A%20x'],
  ])('contain the file name: %j', async (filename, ascii, encoded) => {
    const disposition = `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
    expect((await headersOf({ filename })).get('content-disposition')).toBe(disposition)
  })

  it.each([
    ['\u{1F600}.txt', '%F0%9F%98%80.txt'],
    ['Отчёт', '%D0%9E%D1%82%D1%87%D1%91%D1%82'],
  ])('contain no ASCII form of underscores alone: %j', async (filename, encoded) => {
    const disposition = `attachment; filename*=UTF-8''${encoded}`
    expect((await headersOf({ filename })).get('content-disposition')).toBe(disposition)
  })

  it('preserve every file name of up to 400 encoded characters', async () => {
    const name = anyText(33).filter((text) => !text.includes('\0'))
    await fc.assert(
      fc.asyncProperty(name, async (filename) => {
        const header = (await headersOf({ filename })).get('content-disposition')
        const [, ascii, encoded] =
          /^attachment;(?: filename="([ !#$&-[\]-~]*)";)? filename\*=UTF-8''([\w!#$&+.^`|~%-]*)$/.exec(
            header ?? '',
          ) ?? []
        expect(decodeURIComponent(encoded ?? '')).toBe(filename)
        if (ascii !== undefined) expect(ascii).toHaveLength([...filename].length)
      }),
    )
  })

  it.each([
    ['x'.repeat(256), 'x'.repeat(255)],
    [`${'x'.repeat(1020)}.txt`, `${'x'.repeat(251)}.txt`],
    [`${'\u{1f600}'.repeat(34)}.md`, `${'\u{1f600}'.repeat(33)}.md`],
    [`${'я'.repeat(105)}.p`, `${'я'.repeat(66)}.p`],
    [`${'%'.repeat(200)}.txt`, `${'%'.repeat(132)}.txt`],
    [`${'x'.repeat(300)}.${'y'.repeat(32)}`, 'x'.repeat(255)],
  ])('shorten a longer file name, but not its extension: %j', async (filename, shortened) => {
    const [, encoded] = (await headersOf({ filename })).get('content-disposition')!.split("filename*=UTF-8''")
    expect(decodeURIComponent(encoded!)).toBe(shortened)
  })

  it('contain the given disposition and Cache-Control', async () => {
    const cacheControl = 'private, immutable, max-age=60'
    const shown = await headersOf({ disposition: 'inline', cacheControl })
    expect(shown.get('content-disposition')).toBe(`inline; filename="b.txt"; filename*=UTF-8''b.txt`)
    expect(shown.get('cache-control')).toBe(cacheControl)
    for (const terms of [{}, { disposition: null, cacheControl: null, signedAt: null }]) {
      const headers = await headersOf(terms)
      expect(headers.get('content-disposition')).toContain('attachment; filename="b.txt"')
      expect(headers.get('cache-control')).toBe('private, no-store')
    }
  })

  it('are not cached if the bytes are missing', async () => {
    const response = await get({ ...download, key: 'none', cacheControl: 'private, immutable, max-age=60' })
    expect([response.status, response.headers.get('cache-control')]).toEqual([404, 'private, no-store'])
  })

  const executed = [
    // The JavaScript types of the MIME Sniffing Standard, section 4.6.
    ...['application/ecmascript', 'application/javascript', 'application/x-ecmascript'],
    ...['application/x-javascript', 'text/ecmascript', 'text/javascript', 'text/javascript1.0'],
    ...['text/javascript1.1', 'text/javascript1.2', 'text/javascript1.3', 'text/javascript1.4'],
    ...['text/javascript1.5', 'text/jscript', 'text/livescript', 'text/x-ecmascript', 'text/x-javascript'],
    ...['text/html', 'application/xhtml+xml', 'text/xml', 'application/xml', 'text/xsl'],
    ...['application/rss+xml', 'application/mathml+xml', 'model/x3d+xml', 'a/image+xml', 'a/svg+xml'],
    ...['Text/JavaScript', 'TEXT/HTML', 'application/XHTML+xml', 'Application/Xml'],
    ...['text/javascript; charset=utf-8', 'text/html;charset=utf-8', 'text/html ; charset="utf-8"'],
    ...['text/css', 'Text/CSS; charset=utf-8', 'text/html;', 'text/html;;', 'text/html; a="b;c"'],
    'text/xml; charset=utf-8;',
  ]
  // No URL is signed for such a type by the server. It could be in a row that another application wrote.
  const ambiguous = [
    ...['image/png, text/html', 'text/plain,text/javascript', ',text/html'],
    ...['text/html(x)', 'text/html (x)', 'text/plain (x)', 'text/javascript"', 'text /html', 'text/ html'],
    ...['text', 'text/', '/html', ';text/html', 'text/html\ttext/plain'],
    ...[null, '', 'text/html\r\nset-cookie: x', 'text/ünicode'],
  ]
  const others = [
    ...['image/svg+xml', 'Image/SVG+XML; charset=utf-8', 'text/plain', 'application/pdf'],
    ...['application/json', 'image/png', 'application/javascript-not', 'text/x-html'],
    ...['video/mp4; codecs="x"', 'text/plain; charset="utf-8"'],
  ]
  const repaired = [
    ['video/webm;codecs="vp8,opus"', 'video/webm;codecs="vp8,opus"'],
    ['video/webm;codecs=vp8,opus', 'video/webm;codecs="vp8,opus"'],
    ['text/plain; a=",", text/html', 'text/plain'],
    ['text/plain; a="\\",text/html"', 'text/plain'],
    ['text/plain; a="\\""', 'text/plain; a="\\""'],
  ] as const
  it.each(repaired)('contain %s as %s', async (contentType, expected) => {
    expect((await headersOf({ contentType })).get('content-type')).toBe(expected)
  })

  it.each([
    ['contain application/octet-stream for types that browsers execute or style pages with', executed, false],
    ['contain application/octet-stream for ambiguous and invalid types', ambiguous, false],
    ['keep any other type', others, true],
  ])('%s', async (_, types, isKept) => {
    for (const contentType of types) {
      const headers = await headersOf({ contentType })
      const expected = [contentType, isKept ? contentType : 'application/octet-stream', 'nosniff', false]
      const served = [
        headers.get('content-type'),
        headers.get('x-content-type-options'),
        headers.has('set-cookie'),
      ]
      expect([contentType, ...served]).toEqual(expected)
    }
  })

  it('sandbox an SVG image', async () => {
    const policy = (await headersOf({ contentType: 'image/svg+xml' })).get('content-security-policy') ?? ''
    expect(policy.split(/; */)).toContain('sandbox')
  })
})
