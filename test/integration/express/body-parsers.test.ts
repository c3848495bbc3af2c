import { buffer } from 'node:stream/consumers'
import type { RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { listen } from '../bindings/listening.js'
import { describeParsedBodies, type ParserBench } from '../bindings/parsed-bodies.js'
import { parsed, reading, streamed, type BodySeen } from '../bindings/body-echo.js'
import { versions, type Express } from './versions.js'

/** Consumes the whole body and sets no value, like multer for unknown fields. */
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
const expectations: ParserBench['expectations'] = {
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

describe.each(versions)('a body in $name', ({ express }) => {
  describeParsedBodies({
    parsers: Object.keys(parsers),
    expectations,
    async serve(parser) {
      const app = express()
      for (const middleware of parsers[parser]!(express)) app.use(middleware)
      const { url } = await listen(app.use(expressBinding(reading)))
      return `${url}/api/s3/upload`
    },
  })

  it('never reaches the library if a parser refuses it', async () => {
    const { url } = await listen(express().use(express.json({ limit: 5 }), expressBinding(reading)))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/s3/upload`, { method: 'POST', headers, body: JSON_TEXT })
    await response.text()
    expect(response.status).toBe(413)
  })
})
