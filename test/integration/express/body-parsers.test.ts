import express, { type RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { listen } from '../bindings/listening.js'
import { describeParsedBodies, type ParsedBodies } from '../bindings/parsed-bodies.js'
import { parsed, reading, streamed, type BodySeen } from '../bindings/body-echo.js'

/** Consumes the whole body and sets no value, like multer for unknown fields. */
const consumer: RequestHandler = (req, _res, next) => {
  req.resume().on('end', () => next())
}

const JSON_TEXT = '{"size":3}'

function bodies(json: BodySeen, form: BodySeen, image: BodySeen): ParsedBodies {
  return {
    'application/json': [JSON_TEXT, json],
    'application/x-www-form-urlencoded': ['a=1', form],
    'image/png': ['bytes', image],
  }
}

const parsedBytes = (text: string): BodySeen => ({ kind: 'parsed', text })

describe('a body in Express 5', () => {
  describeParsedBodies<readonly RequestHandler[]>(
    {
      'no parser': [[], bodies(streamed(JSON_TEXT), streamed('a=1'), streamed('bytes'))],
      'json, urlencoded and text': [
        [express.json(), express.urlencoded({ extended: true }), express.text()],
        bodies(parsed({ size: 3 }), parsed({ a: '1' }), streamed('bytes')),
      ],
      'express.raw() for all types': [
        [express.raw({ type: () => true })],
        bodies(parsedBytes(JSON_TEXT), parsedBytes('a=1'), parsedBytes('bytes')),
      ],
      'express.text() for all types': [
        [express.text({ type: () => true })],
        bodies(parsed(JSON_TEXT), parsed('a=1'), parsed('bytes')),
      ],
      'a consumer that leaves no body': [[consumer], bodies(parsed(), parsed(), parsed())],
    },
    async (middleware) => {
      const { url } = await listen(express().use(...middleware, expressBinding(reading)))
      return `${url}/api/s3/upload`
    },
  )

  it('never reaches the library if a parser refuses it', async () => {
    const { url } = await listen(express().use(express.json({ limit: 5 }), expressBinding(reading)))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/s3/upload`, { method: 'POST', headers, body: JSON_TEXT })
    await response.text()
    expect(response.status).toBe(413)
  })
})
