import { Readable } from 'node:stream'
import { setImmediate as nextTick } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { serverWithObjects, USER_HEADER } from '../http-table/fixture.js'
import type { Step } from './framework.js'
import { frameworks } from './frameworks.js'
import { parsed, reading, readingAtOnce, streamed } from './body-echo.js'

const ways = [
  { way: 'opened as a stream', reading },
  { way: 'read at once', reading: readingAtOnce },
]
const JSON_TEXT = '{"size":3}'
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON_TEXT }

describe.each(frameworks)('a body in $name', ({ app: newApp }) => {
  describe.each(ways)('$way', ({ reading }) => {
    it('arrives in many chunks, after slow middleware', async () => {
      const chunk = 'x'.repeat(50_000)
      async function* chunks() {
        for (let i = 0; i < 20; i++) {
          await nextTick()
          yield Buffer.from(chunk)
        }
      }
      const slow: Step = (_message, _response, proceed) => void nextTick().then(proceed)
      const { url } = await newApp().use(slow).useJsonParser().use(slow).bind(reading).listen()

      const body = Readable.toWeb(Readable.from(chunks()))
      const init = { method: 'PUT', body, duplex: 'half' } as unknown as RequestInit
      const response = await fetch(`${url}/api/s3/upload`, init)

      expect(await response.json()).toEqual(streamed(chunk.repeat(20)))
    })

    it('is read by the library and by middleware that listens to it', async () => {
      const heard: string[] = []
      const app = newApp().use((message, _response, proceed) => {
        message.on('data', (chunk: Buffer) => heard.push(chunk.toString()))
        proceed()
      })
      app.bind({
        ...reading,
        handler: async (request, options) => {
          // As long as resolving the caller may take.
          for (let tick = 0; tick < 10; tick++) await nextTick()
          return reading.handler(request, options)
        },
      })
      const { url } = await app.listen()

      const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'bytes' })

      expect(await response.json()).toEqual(streamed('bytes'))
      expect(heard.join('')).toBe('bytes')
    })

    it('is read as bytes despite an encoding', async () => {
      const app = newApp().use((message, _response, proceed) => {
        message.setEncoding('latin1')
        proceed()
      })
      const { url } = await app.bind(reading).listen()
      const response = await fetch(`${url}/api/s3/upload`, { method: 'PUT', body: 'Jürgen' })
      expect(await response.json()).toEqual(streamed('Jürgen'))
    })
  })
})

describe.each(frameworks)('a parsed body in $name', ({ app: newApp }) => {
  const consume: Step = (message, _response, proceed) => void message.resume().on('end', proceed)

  it('has no value if middleware has consumed it and set none', async () => {
    const { url } = await newApp().use(consume).bind(reading).listen()
    expect(await (await fetch(`${url}/api/s3/x`, post)).json()).toEqual(parsed())
  })

  it('is found where a parser or the platform has put it', async () => {
    const put =
      (values: object): Step =>
      (message, response, proceed) =>
        consume(message, response, () => {
          Object.assign(message, values)
          proceed()
        })
    for (const [values, expected] of [
      [{ body: { size: 3 } }, parsed({ size: 3 })],
      [{ rawBody: JSON_TEXT }, parsed(JSON_TEXT)],
      [{ rawBody: Buffer.from(JSON_TEXT) }, { kind: 'parsed', text: JSON_TEXT }],
      [{ body: { size: 3 }, rawBody: JSON_TEXT }, parsed({ size: 3 })],
      [
        { body: { size: 3 }, rawBody: Buffer.from(JSON_TEXT) },
        { kind: 'parsed', text: JSON_TEXT },
      ],
    ] as const) {
      const { url } = await newApp().use(put(values)).bind(reading).listen()
      expect(await (await fetch(`${url}/api/s3/x`, post)).json()).toEqual(expected)
    }
  })

  it('is a 400 that says so if a slow logger has read it', async () => {
    const slow: Step = (message, _response, proceed) => void message.on('data', () => setImmediate(proceed))
    const { url } = await newApp().use(slow).bind(serverWithObjects()).listen()
    const response = await fetch(`${url}/api/s3/upload`, {
      ...post,
      headers: { ...post.headers, [USER_HEADER]: 'user:1' },
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        message: expect.stringContaining('in front') as string,
      }),
    ])
  })

  it('is a stream if it was empty', async () => {
    const apps = [reading, readingAtOnce].flatMap((served) => [
      newApp().use(consume).bind(served),
      newApp().useJsonParser().bind(served),
    ])
    for (const app of apps) {
      const { url } = await app.listen()
      const chunked = { body: Readable.toWeb(Readable.from([])), duplex: 'half' } as unknown as RequestInit
      for (const init of [{ ...post, body: '' }, { ...post, ...chunked }, {}]) {
        expect(await (await fetch(`${url}/api/s3/x`, init)).json()).toEqual(streamed(''))
      }
    }
  })

  it('is decompressed by a JSON parser', async () => {
    const { url } = await newApp().useJsonParser().bind(reading).listen()
    const headers = { ...post.headers, 'content-encoding': 'gzip' }
    const response = await fetch(`${url}/api/s3/upload`, { ...post, headers, body: gzipSync(JSON_TEXT) })
    expect(await response.json()).toEqual(parsed({ size: 3 }))
  })

  it('is a 400 if it is 10 kB of nested brackets', async () => {
    const { url } = await newApp().useJsonParser().bind(serverWithObjects()).listen()
    const headers = { ...post.headers, [USER_HEADER]: 'user:1' }
    const deep = `${'{"a":'.repeat(1700)}1${'}'.repeat(1700)}`
    for (const [field, body] of [
      ['body', '['.repeat(5000) + ']'.repeat(5000)],
      ['metadata', `{"filename":"a.txt","contentType":"text/plain","size":3,"metadata":${deep}}`],
    ] as const) {
      const response = await fetch(`${url}/api/s3/upload`, { ...post, headers, body })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
    }
  })

  it('is refused as an upload, because its bytes are gone', async () => {
    const plugins = [db({ client: memoryAdapter(), resolveScope: () => 'user:1' })] as const
    const s3 = createS3Server({ storage: memoryStorage(), bucket: 'files', plugins })
    const { url } = await newApp().useJsonParser().bind(s3).listen()
    const body = JSON.stringify({ filename: 'a.json', contentType: 'application/json', size: 10 })
    const begun = await fetch(`${url}/api/s3/upload`, { ...post, body })
    const { upload } = (await begun.json()) as { upload: { url: string; headers: Record<string, string> } }

    const put = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: JSON_TEXT })

    expect(put.status).toBe(400)
    expect(await put.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
  })

  it('reaches other routes if the parser comes after the binding', async () => {
    const { url } = await newApp().bind(reading).useJsonParser().routeOfParsedBody().listen()

    expect(await (await fetch(`${url}/other`, post)).json()).toEqual({ size: 3 })
    expect(await (await fetch(`${url}/api/s3/upload`, post)).json()).toEqual(streamed(JSON_TEXT))
  })
})
