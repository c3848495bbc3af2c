import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { listen } from '../bindings/listening.js'
import { parsed, reading, streamed, type BodySeen } from '../bindings/reading-handler.js'
import { versions, type Express } from './versions.js'

/** Takes the whole body and leaves nothing, as multer does with the fields it doesn't know. */
const consumer: RequestHandler = (req, _res, next) => {
  req.resume().on('end', () => next())
}

const asyncConsumer: RequestHandler = (req, _res, next) => {
  void buffer(req).then(() => next())
}

const parsers: Readonly<Record<string, (express: Express) => RequestHandler[]>> = {
  'no parser': () => [],
  'express.json()': (express) => [express.json()],
  'express.urlencoded()': (express) => [express.urlencoded({ extended: true })],
  'express.raw() for all types': (express) => [express.raw({ type: () => true })],
  'express.text() for all types': (express) => [express.text({ type: () => true })],
  'json, urlencoded and text': (express) => [
    express.json(),
    express.urlencoded({ extended: false }),
    express.text(),
  ],
  'a consumer that leaves no body': () => [consumer],
  'a consumer by async iteration': () => [asyncConsumer],
}

const parsedBytes = (text: string): BodySeen => ({ kind: 'parsed', text })

const JSON_TEXT = '{"size":3}'
/** For each content type: what the library gets after each parser. */
const expectations: Readonly<Record<string, { body: string; seen: Readonly<Record<string, BodySeen>> }>> = {
  'application/json': {
    body: JSON_TEXT,
    seen: {
      'no parser': streamed(JSON_TEXT),
      'express.json()': parsed({ size: 3 }),
      'express.urlencoded()': streamed(JSON_TEXT),
      'express.raw() for all types': parsedBytes(JSON_TEXT),
      'express.text() for all types': parsed(JSON_TEXT),
      'json, urlencoded and text': parsed({ size: 3 }),
      'a consumer that leaves no body': parsed(),
      'a consumer by async iteration': parsed(),
    },
  },
  'application/x-www-form-urlencoded': {
    body: 'a=1',
    seen: {
      'no parser': streamed('a=1'),
      'express.json()': streamed('a=1'),
      'express.urlencoded()': parsed({ a: '1' }),
      'express.raw() for all types': parsedBytes('a=1'),
      'express.text() for all types': parsed('a=1'),
      'json, urlencoded and text': parsed({ a: '1' }),
      'a consumer that leaves no body': parsed(),
      'a consumer by async iteration': parsed(),
    },
  },
  'image/png': {
    body: 'bytes',
    seen: {
      'no parser': streamed('bytes'),
      'express.json()': streamed('bytes'),
      'express.urlencoded()': streamed('bytes'),
      'express.raw() for all types': parsedBytes('bytes'),
      'express.text() for all types': parsed('bytes'),
      'json, urlencoded and text': streamed('bytes'),
      'a consumer that leaves no body': parsed(),
      'a consumer by async iteration': parsed(),
    },
  },
}

const table = Object.entries(expectations).flatMap(([type, { body, seen }]) =>
  Object.entries(seen).map(([parser, expected]) => ({ type, body, parser, expected })),
)

describe.each(versions)('bodies in $name', ({ express }) => {
  async function serve(before: readonly RequestHandler[]) {
    const app = express()
    for (const middleware of before) app.use(middleware)
    const { url } = await listen(app.use(expressBinding(reading)))
    return `${url}/api/s3/upload`
  }

  it.each(table)('$type after $parser', async ({ type, body, parser, expected }) => {
    const url = await serve(parsers[parser]!(express))
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
    expect(await response.json()).toEqual(expected)
  })

  it.each(Object.keys(parsers))('an empty body after %s', async (parser) => {
    const url = await serve(parsers[parser]!(express))
    const chunked = () =>
      ({ body: Readable.toWeb(Readable.from([])), duplex: 'half' }) as unknown as RequestInit
    for (const type of ['application/json', 'image/png']) {
      for (const init of [{ body: '' }, chunked()]) {
        const response = await fetch(url, { method: 'PUT', headers: { 'content-type': type }, ...init })
        expect(await response.json()).toEqual(streamed(''))
      }
    }
  })

  it.each(['no parser', 'express.json()', 'express.raw() for all types'])(
    'no body after %s',
    async (parser) => {
      const url = await serve(parsers[parser]!(express))
      expect(await (await fetch(url)).json()).toEqual(streamed(''))
    },
  )

  it('a compressed body after express.json()', async () => {
    const url = await serve([express.json()])
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const response = await fetch(url, { method: 'POST', headers, body: gzipSync(JSON_TEXT) })
    expect(await response.json()).toEqual(parsed({ size: 3 }))
  })

  it('a parser after the binding gets the bodies of other routes', async () => {
    const app = express().use(expressBinding(reading)).use(express.json())
    app.post('/other', (req, res) => void res.json(req.body))
    const { url } = await listen(app)
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON_TEXT }

    expect(await (await fetch(`${url}/other`, post)).json()).toEqual({ size: 3 })
    expect(await (await fetch(`${url}/api/s3/upload`, post)).json()).toEqual(streamed(JSON_TEXT))
  })

  it('a parser that refuses the body comes before the library', async () => {
    const url = await serve([express.json({ limit: 5 })])
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON_TEXT })
    await response.text()
    expect(response.status).toBe(413)
  })
})
