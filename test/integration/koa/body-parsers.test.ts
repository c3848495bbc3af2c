import { bodyParser } from '@koa/bodyparser'
import Koa, { type Middleware } from 'koa'
import legacyBodyParser from 'koa-bodyparser'
import { describe, expect, it } from 'vitest'
import { koaBinding } from '@svc/db/koa'
import { describeParsedBodies, type ParsedBodies } from '../bindings/parsed-bodies.js'
import { parsed, reading, streamed, type BodySeen } from '../bindings/body-echo.js'
import { listenWith } from './versions.js'

/** Consumes the whole body and sets no value, like @koa/multer for unknown fields. */
const consumer: Middleware = async (ctx, next) => {
  await ctx.req.forEach(() => undefined)
  await next()
}

const JSON_TEXT = '{"size":3}'

function bodies(json: BodySeen, form: BodySeen, text: BodySeen, image: BodySeen): ParsedBodies {
  return {
    'application/json': [JSON_TEXT, json],
    'application/x-www-form-urlencoded': ['a=1', form],
    'text/plain': ['text', text],
    'image/png': ['bytes', image],
  }
}

const usual = bodies(parsed({ size: 3 }), parsed({ a: '1' }), streamed('text'), streamed('bytes'))
const all = bodies(parsed({ size: 3 }), parsed({ a: '1' }), parsed('text'), streamed('bytes'))

describe('a body in Koa 3', () => {
  describeParsedBodies<readonly Middleware[]>(
    {
      'no parser': [[], bodies(streamed(JSON_TEXT), streamed('a=1'), streamed('text'), streamed('bytes'))],
      '@koa/bodyparser': [[bodyParser()], usual],
      'koa-bodyparser': [[legacyBodyParser() as Middleware], usual],
      '@koa/bodyparser on the message, too': [[bodyParser({ patchNode: true })], usual],
      '@koa/bodyparser for all types': [[bodyParser({ enableTypes: ['json', 'form', 'text', 'xml'] })], all],
      'a consumer that leaves no body': [[consumer], bodies(parsed(), parsed(), parsed(), parsed())],
    },
    async (parsers) => {
      const app = new Koa()
      for (const middleware of parsers) app.use(middleware)
      const { url } = await listenWith(app.use(koaBinding(reading)))
      return `${url}/api/s3/upload`
    },
  )

  it('never reaches the library if a parser refuses it', async () => {
    const { url } = await listenWith(new Koa().use(bodyParser({ jsonLimit: 5 })).use(koaBinding(reading)))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/s3/upload`, { method: 'POST', headers, body: JSON_TEXT })
    expect(response.status).toBe(413)
  })
})
