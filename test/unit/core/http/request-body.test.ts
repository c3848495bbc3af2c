import { describe, expect, it, vi } from 'vitest'
import {
  bodyOf,
  readBytes,
  readJsonObject,
  type RequestBody,
} from '../../../../src/core/http/request-body.js'

// The HTTP table tests bodies as clients send them. These are the forms in which bindings pass them on.

const LIMIT = 64 * 1024
const bytesOf = (text: string) => new TextEncoder().encode(text)

function post(contentType: string | null = 'application/json', body: string | null = null): Request {
  const headers = new Headers(contentType === null ? {} : { 'content-type': contentType })
  const request = new Request('http://localhost/', { method: 'POST', body, headers })
  if (contentType === null) request.headers.delete('content-type')
  return request
}

function streamOf(...chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}

const stream = (text: string): RequestBody => ({ kind: 'stream', open: () => streamOf(bytesOf(text)) })
const atOnce = (read: (maxBytes: number) => Promise<Uint8Array | null>): RequestBody => {
  return { kind: 'stream', open: () => null, read }
}
const parsed = (value: unknown): RequestBody => ({ kind: 'parsed', value })

/** All forms of a JSON text. */
const FORMS: readonly (readonly [string, (text: string) => RequestBody])[] = [
  ['a stream', stream],
  [
    'bytes read at once',
    (text) => atOnce(async (most) => (bytesOf(text).length > most ? null : bytesOf(text))),
  ],
  ['parsed text', parsed],
  ['parsed bytes', (text) => parsed(bytesOf(text))],
]
const ALL_FORMS = [
  ...FORMS,
  ['a parsed value', (text: string) => parsed(JSON.parse(text))],
] as const satisfies typeof FORMS

const read = (body: RequestBody) => readJsonObject(post(), body)

async function expectRefused(result: Promise<unknown>, message: RegExp | string): Promise<void> {
  await expect(result).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    status: 400,
    params: { field: 'body' },
    message: expect.stringMatching(message) as string,
  })
}

/** Returns a JSON object of this many bytes, but fewer characters. */
const jsonOfLength = (length: number) => JSON.stringify({ a: 'é'.repeat(4) + 'a'.repeat(length - 16) })

describe.each(ALL_FORMS)('a JSON body as %s', (_, formOf) => {
  it('is an object, in which __proto__ is an ordinary name', async () => {
    const body = await read(formOf('{"nested":{"a":[1]},"__proto__":{"admin":true},"key":"\u{1f600}"}'))
    expect(Object.keys(body)).toEqual(['nested', '__proto__', 'key'])
    expect(body['key']).toBe('\u{1f600}')
    expect(body['admin']).toBeUndefined()
  })

  it('has at most 64 KiB, in bytes', async () => {
    expect(bytesOf(jsonOfLength(LIMIT))).toHaveLength(LIMIT)
    expect(await read(formOf(jsonOfLength(LIMIT)))).toHaveProperty('a')
    await expectRefused(read(formOf(jsonOfLength(LIMIT + 1))), /must be at most 65536 bytes/)
  })

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('is read or refused, however deeply it is nested: %s', async (open, close) => {
    const nested = (levels: number) => `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`
    expect(await read(formOf(nested(200)))).toHaveProperty('a')
    const deepest = Math.floor((LIMIT - 7) / (open.length + close.length))
    const error: unknown = await read(formOf(nested(deepest))).then(
      () => null,
      (refusal: unknown) => refusal,
    )
    if (error !== null) expect(error).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
  })

  it.each([
    ['text/plain; a=application/json'],
    ['application/jsonp'],
    ['application/json, text/plain'],
    [''],
    [null],
  ])('is refused if sent as %j', async (type) => {
    await expectRefused(readJsonObject(post(type), formOf('{}')), /content type application\/json/)
  })
})

describe.each(FORMS)('a JSON text as %s', (_, formOf) => {
  it.each(['', '{', '{"a":1,}', "{'a':1}", '{}{}', '\0'])('is refused if it is %j', async (text) => {
    await expectRefused(read(formOf(text)), /must be valid JSON/)
  })

  it.each(['null', '[]', '[{"a":1}]', '"a"', '5', 'true'])(
    'is refused if it is no object: %s',
    async (text) => {
      await expectRefused(read(formOf(text)), /must be a JSON object/)
    },
  )
})

describe('a body that is read', () => {
  it('may be absent', async () => {
    await expectRefused(readJsonObject(post(), bodyOf(post())), /must be valid JSON/)
  })

  it('is not opened if its content type is refused', async () => {
    const open = vi.fn(() => streamOf(bytesOf('{}')))
    await expectRefused(readJsonObject(post('text/plain'), { kind: 'stream', open }), /content type/)
    expect(open).not.toHaveBeenCalled()
  })

  it('may start with a byte order mark, and its chunks may split a character', async () => {
    const bytes = bytesOf('\ufeff{"a":"\u{1f600}"}')
    const open = () => streamOf(bytes.slice(0, 11), bytes.slice(11))
    expect(await read({ kind: 'stream', open })).toEqual({ a: '\u{1f600}' })
  })

  it.each([[[0x7b, 0xff, 0x7d]], [[0x22, 0xc3, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    'is refused if it is not valid UTF-8: %j',
    async (bytes) => {
      const open = () => streamOf(new Uint8Array(bytes))
      await expectRefused(read({ kind: 'stream', open }), /must be valid UTF-8/)
      await expectRefused(read(parsed(new Uint8Array(bytes))), /must be valid UTF-8/)
    },
  )

  it('passes its limit to a binding that reads it at once, which returns null beyond', async () => {
    const reading = vi.fn(async () => null)
    await expectRefused(read(atOnce(reading)), /at most 65536 bytes/)
    expect(reading).toHaveBeenCalledExactlyOnceWith(LIMIT)
  })

  it('is refused if the client disconnects', async () => {
    const gone = new Error('aborted by 10.0.0.7')
    const open = () => new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(gone) })
    const message = /^The body ended before it was complete\.$/
    await expectRefused(read({ kind: 'stream', open }), message)
    await expectRefused(read(atOnce(() => Promise.reject(gone))), message)
  })
})

describe('a parsed body', () => {
  it.each([[null], [5], [['a']], [() => 'a'], [{ size: 5n }]])(
    'is refused if it is no object: %s',
    async (value) => {
      await expectRefused(read(parsed(value)), /must be a JSON object/)
    },
  )

  it('is refused if it contains itself', async () => {
    const list: unknown[] = []
    list.push(list, list)
    await expectRefused(read(parsed({ list })), /must be a JSON object/)
  })
})

describe('reading bytes', () => {
  it("stops at the limit, discards 1 MiB and cancels the rest, even if that can't be cancelled", async () => {
    const cancel = vi.fn(() => Promise.reject(new Error('socket is gone')))
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(2 ** 19))
        },
        cancel,
      },
      { highWaterMark: 0 },
    )
    await expectRefused(readBytes(endless, 25), /at most 25 bytes/)
    await expect.poll(() => cancel.mock.calls).toHaveLength(1)
    expect(pulled).toBe(4)
  })
})
