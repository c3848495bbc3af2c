import { describe, expect, it, vi } from 'vitest'
import {
  bodyOf,
  readBytes,
  readJsonObject,
  type RequestBody,
} from '../../../../src/core/http/request-body.js'

const LIMIT = 64 * 1024
const JSON_TYPE = 'application/json'

const bytesOf = (text: string) => new TextEncoder().encode(text)

function post(
  body: string | Uint8Array<ArrayBuffer> | null,
  contentType: string | null = JSON_TYPE,
): Request {
  const headers = contentType === null ? new Headers() : new Headers({ 'content-type': contentType })
  const request = new Request('http://localhost/', { method: 'POST', body, headers })
  if (contentType === null) request.headers.delete('content-type')
  return request
}

const read = (request: Request) => readJsonObject(request, bodyOf(request))
const readParsed = (value: unknown) => readJsonObject(post(null), { kind: 'parsed', value })

async function expectRefused(result: Promise<unknown>, message: RegExp): Promise<void> {
  await expect(result).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    status: 400,
    params: { field: 'body' },
    message: expect.stringMatching(message) as string,
  })
}

/** Returns a JSON object of this many bytes. */
function jsonOfLength(length: number): string {
  return JSON.stringify({ a: 'é'.repeat(4) + 'a'.repeat(length - 16) })
}

function streamOf(...chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}

describe('a JSON body that is read at once', () => {
  const readAtOnce = (bytes: Promise<Uint8Array | null>) =>
    readJsonObject(post(null), { kind: 'stream', open: () => null, read: () => bytes })

  it('is parsed like any other', async () => {
    expect(await readAtOnce(Promise.resolve(bytesOf('{"key":"ü"}')))).toEqual({ key: 'ü' })
  })

  it('is refused if it exceeds the limit', async () => {
    await expectRefused(readAtOnce(Promise.resolve(null)), /at most 65536 bytes/)
  })

  it('is refused if it ends early', async () => {
    await expectRefused(readAtOnce(Promise.reject(new Error('aborted'))), /ended before it was complete/)
  })

  it('passes the limit', async () => {
    const read = vi.fn(async () => bytesOf('{}'))
    await readJsonObject(post(null), { kind: 'stream', open: () => null, read })
    expect(read).toHaveBeenCalledExactlyOnceWith(LIMIT)
  })
})

describe('a JSON body', () => {
  it('is parsed into an object', async () => {
    expect(await read(post('{"key":"a.png","size":5,"nested":{"a":[1]}}'))).toEqual({
      key: 'a.png',
      size: 5,
      nested: { a: [1] },
    })
  })

  it('treats __proto__ as an ordinary name', async () => {
    const body = await read(post('{"__proto__":{"admin":true}}'))
    expect(Object.keys(body)).toEqual(['__proto__'])
    expect(body['admin']).toBeUndefined()
  })

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'APPLICATION/JSON',
    ' application/json ; charset=utf-8',
  ])('can be sent as %j', async (contentType) => {
    expect(await read(post('{"a":1}', contentType))).toEqual({ a: 1 })
  })

  it.each([
    'text/plain',
    'text/plain; a=application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/jsonp',
    'application/ld+json',
    'application/json, text/plain',
    '',
    null,
  ])('is refused without being read if sent as %j', async (contentType) => {
    const open = vi.fn(() => streamOf(bytesOf('{}')))
    await expectRefused(
      readJsonObject(post('{}', contentType), { kind: 'stream', open }),
      /content type application\/json/,
    )
    expect(open).not.toHaveBeenCalled()
    await expectRefused(
      readJsonObject(post('{}', contentType), { kind: 'parsed', value: {} }),
      /content type application\/json/,
    )
  })

  it('may have up to 64 KiB, in bytes', async () => {
    expect(bytesOf(jsonOfLength(LIMIT))).toHaveLength(LIMIT)
    expect(await read(post(jsonOfLength(LIMIT)))).toHaveProperty('a')
    await expectRefused(read(post(jsonOfLength(LIMIT + 1))), /must be at most 65536 bytes/)
    await expectRefused(read(post(`{}${' '.repeat(LIMIT - 1)}`)), /must be at most 65536 bytes/)
  })

  it('may start with a byte order mark', async () => {
    expect(await read(post('\ufeff{"a":1}'))).toEqual({ a: 1 })
  })

  it('is refused if it is not valid UTF-8', async () => {
    for (const bytes of [
      [0x7b, 0xff, 0x7d],
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ]) {
      await expectRefused(read(post(new Uint8Array(bytes))), /must be valid UTF-8/)
    }
  })

  it('is joined from chunks that split a character', async () => {
    const [one, two] = [bytesOf('{"a":"\u{1f600}"}').slice(0, 8), bytesOf('{"a":"\u{1f600}"}').slice(8)]
    const body: RequestBody = { kind: 'stream', open: () => streamOf(one, two) }
    expect(await readJsonObject(post(null), body)).toEqual({ a: '\u{1f600}' })
  })

  it.each(['', ' ', '{', '{"a":1,}', "{'a':1}", 'undefined', '{}{}', '\0'])(
    'is refused if it is not JSON: %j',
    async (text) => {
      await expectRefused(read(post(text)), /must be valid JSON/)
      await expectRefused(readParsed(text), /must be valid JSON/)
    },
  )

  it.each(['null', '[]', '[{"a":1}]', '"a"', '5', 'true'])(
    'is refused if it is not an object: %s',
    async (text) => {
      await expectRefused(read(post(text)), /must be a JSON object/)
      await expectRefused(readParsed(text), /must be a JSON object/)
    },
  )

  it('may be nested 64 levels deep', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (levels: number) => `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`
      for (const readAny of [
        (text: string) => read(post(text)),
        readParsed,
        (text: string) => readParsed(JSON.parse(text)),
      ]) {
        expect(await readAny(nested(64))).toHaveProperty('a')
        await expectRefused(readAny(nested(65)), /at most 64 levels deep/)
        await expectRefused(readAny(nested(5000)), /at most 64 levels deep/)
      }
    }
  })

  it('is refused if absent', async () => {
    await expectRefused(read(post(null)), /must be valid JSON/)
  })

  it('is refused if the client disconnects', async () => {
    const open = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytesOf('{"a":'))
        },
        pull(controller) {
          controller.error(new Error('aborted by 10.0.0.7'))
        },
      })
    await expectRefused(
      readJsonObject(post(null), { kind: 'stream', open }),
      /^The body ended before it was complete\.$/,
    )
  })
})

describe('a body that was parsed before', () => {
  it('can be an object, text or bytes', async () => {
    expect(await readParsed({ a: 1 })).toEqual({ a: 1 })
    expect(await readParsed('{"a":1}')).toEqual({ a: 1 })
    expect(await readParsed(bytesOf('{"a":1}'))).toEqual({ a: 1 })
    expect(await readParsed(Buffer.from('{"a":1}'))).toEqual({ a: 1 })
  })

  it('has the same length limit', async () => {
    const longest = jsonOfLength(LIMIT)
    const tooLong = jsonOfLength(LIMIT + 1)
    for (const form of [(text: string) => text, bytesOf, (text: string) => JSON.parse(text) as unknown]) {
      expect(await readParsed(form(longest))).toHaveProperty('a')
      await expectRefused(readParsed(form(tooLong)), /must be at most 65536 bytes/)
    }
  })

  it.each([[undefined], [null], [5], [true], [['a']], [() => 'a']])(
    'is refused if it is not an object: %s',
    async (value) => {
      await expectRefused(readParsed(value), /must be a JSON object/)
    },
  )

  it('is refused if JSON has no such value', async () => {
    await expectRefused(readParsed({ size: 5n }), /must be a JSON object/)
  })

  it('is refused if it contains itself', async () => {
    const list: unknown[] = []
    list.push(list, list)
    await expectRefused(readParsed({ list }), /at most 64 levels deep|at most 65536 bytes/)
  })

  it('is refused if its bytes are not UTF-8', async () => {
    await expectRefused(readParsed(new Uint8Array([0xff])), /must be valid UTF-8/)
  })
})

describe('reading bytes', () => {
  it('joins all chunks', async () => {
    const bytes = await readBytes(streamOf(bytesOf('ab'), bytesOf(''), bytesOf('cd')), 4)
    expect(new TextDecoder().decode(bytes)).toBe('abcd')
  })

  it('returns nothing without a body', async () => {
    expect(await readBytes(null, 4)).toHaveLength(0)
    expect(await readBytes(streamOf(), 0)).toHaveLength(0)
  })

  it('stops at the limit and cancels the rest', async () => {
    const cancelled = vi.fn()
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(10))
        },
        cancel: cancelled,
      },
      { highWaterMark: 0 },
    )
    await expectRefused(readBytes(endless, 25), /at most 25 bytes/)
    expect(pulled).toBe(3)
    expect(cancelled).toHaveBeenCalledTimes(1)
  })

  it("refuses by length even if the rest can't be cancelled", async () => {
    const stuck = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel: () => Promise.reject(new Error('socket is gone')),
    })
    await expectRefused(readBytes(stuck, 5), /at most 5 bytes/)
  })
})
