import { describe, expect, it } from 'vitest'
import { errorOf, startService } from './service.js'

const GIB = 1024 ** 3

describe('the input of POST /upload', () => {
  const refused: [string, Record<string, unknown>, string][] = [
    ['no filename', { filename: undefined }, 'filename'],
    ['an empty filename', { filename: '' }, 'filename'],
    ['a filename that is too long', { filename: 'x'.repeat(1025) }, 'filename'],
    ['a filename with NUL', { filename: 'a\0b' }, 'filename'],
    ['a filename with an unpaired surrogate', { filename: 'a\ud800' }, 'filename'],
    ['a filename that is not a string', { filename: 7 }, 'filename'],
    ['no content type', { contentType: undefined }, 'contentType'],
    ['no size', { size: undefined }, 'size'],
    ['a size of null', { size: null }, 'size'],
    ['a negative size', { size: -1 }, 'size'],
    ['a fractional size', { size: 1.5 }, 'size'],
    ['a size as a string', { size: '3' }, 'size'],
    ['a size beyond the safe integers', { size: 2 ** 53 }, 'size'],
    ['metadata that is not an object', { metadata: 'x' }, 'metadata'],
    ['metadata with numbers', { metadata: { a: 1 } }, 'metadata'],
    ['metadata with null', { metadata: { a: null } }, 'metadata'],
    [
      'too many entries',
      { metadata: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [i, ''])) },
      'metadata',
    ],
    ['an unknown route', { route: 'other' }, 'route'],
    ['an inherited name as route', { route: 'constructor' }, 'route'],
    ['__proto__ as route', { route: '__proto__' }, 'route'],
    ['a route that is not a string', { route: 1 }, 'route'],
    ['an empty route', { route: '' }, 'route'],
  ]
  it.each(refused)('refuses %s', async (_, input, field) => {
    const { as, objects } = startService()
    const error = await errorOf(await as('user:1').begin(input))
    expect(error).toMatchObject({ status: 400, code: 'VALIDATION_ERROR', params: { field } })
    expect(await objects.countByScope('user:1')).toBe(0)
  })

  const types: [string, boolean][] = [
    ['text/plain', true],
    ['TEXT/Plain', true],
    ['image/svg+xml', true],
    ['application/vnd.ms-excel', true],
    ["x!#$%&'*+.^_`|~-/y", true],
    ['text/plain;charset=utf-8', true],
    ['text/plain; charset=utf-8', true],
    ['text/plain \t; charset="utf 8"', true],
    ['text/plain; a="\\"quoted\\" and \\\\"; b=c', true],
    ['text/plain;', true],
    ['text/plain;; a=b', true],
    [`text/${'x'.repeat(250)}`, true],
    [`text/${'x'.repeat(251)}`, false],
    ['', false],
    ['text', false],
    ['text/', false],
    ['/plain', false],
    ['text/plain/x', false],
    ['text /plain', false],
    [' text/plain', false],
    ['text/plain ', false],
    ['text/plain; ', false],
    ['text/plain; a', false],
    ['text/plain; a=', false],
    ['text/plain; a = b', false],
    ['text/plain; a="b', false],
    ['text/plain, text/html', false],
    ['text/plain\r\nx-evil: 1', false],
    ['text/pläin', false],
    ['text/plain; a="ü"', false],
    ['text/plain; a="\u0001"', false],
    [`a/b${'; \t'.repeat(80)}x`, false],
  ]
  it.each(types)('accepts exactly the media types of RFC 9110: %j', async (contentType, good) => {
    const response = await startService().as('user:1').begin({ contentType })
    expect(response.status).toBe(good ? 201 : 400)
    if (!good) expect(await errorOf(response)).toMatchObject({ params: { field: 'contentType' } })
  })

  it('replaces tabs in a type with spaces, which all buckets sign alike', async () => {
    const { object, upload } = await startService()
      .as('user:1')
      .begun({ contentType: 'text/plain;\ta="b\tc"' })
    expect(object).toMatchObject({ contentType: 'text/plain; a="b c"' })
    expect(upload.headers).toMatchObject({ 'content-type': 'text/plain; a="b c"' })
  })

  it('accepts only a JSON body', async () => {
    const { s3 } = startService()
    const bodies: [string | undefined, string][] = [
      ['text/plain', '{}'],
      [undefined, '{}'],
      ['application/json', '{'],
      ['application/json', '[]'],
      ['application/json', 'null'],
      ['application/json', JSON.stringify({ filename: 'x'.repeat(64 * 1024) })],
    ]
    for (const [type, body] of bodies) {
      const headers = { 'x-scope': 'user:1', ...(type && { 'content-type': type }) }
      const request = new Request('https://app.example/api/s3/upload', { method: 'POST', headers, body })
      expect(await errorOf(await s3.handler(request))).toMatchObject({
        status: 400,
        params: { field: 'body' },
      })
    }
  })

  it('accepts at most 5 GiB in a single PUT', async () => {
    const caller = startService().as('user:1')
    expect((await caller.begin({ size: 5 * GIB })).status).toBe(201)
    expect(await errorOf(await caller.begin({ size: 5 * GIB + 1 }))).toEqual({
      status: 413,
      code: 'FILE_TOO_LARGE',
      message: `size must be at most ${5 * GIB} bytes (got ${5 * GIB + 1}).`,
      params: { max: 5 * GIB, size: 5 * GIB + 1 },
    })
  })
})
