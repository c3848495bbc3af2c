import { bodyParser } from '@koa/bodyparser'
import type { Middleware } from 'koa'
import legacyBodyParser from 'koa-bodyparser'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { koaBinding } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { describeParsedBodies, type ParserBench } from '../bindings/parsed-bodies.js'
import { parsed, reading, type BodySeen } from '../bindings/body-echo.js'
import { listenWith, versions } from './versions.js'

/** Consumes the whole body and sets no value, like @koa/multer for unknown fields. */
const consumer: Middleware = async (ctx, next) => {
  await ctx.req.forEach(() => undefined)
  await next()
}

const enableTypes = ['json' as const, 'form' as const, 'text' as const, 'xml' as const]
const parsers: Readonly<Record<string, readonly Middleware[]>> = {
  'no parser': [],
  '@koa/bodyparser': [bodyParser()],
  'koa-bodyparser': [legacyBodyParser()],
  '@koa/bodyparser on the message, too': [bodyParser({ patchNode: true })],
  '@koa/bodyparser for all types': [bodyParser({ enableTypes })],
  'a consumer that leaves no body': [consumer],
}

const JSON_TEXT = '{"size":3}'
const sameParsed = (names: readonly string[], seen: BodySeen) =>
  Object.fromEntries(names.map((name) => [name, seen]))
const usual = ['@koa/bodyparser', 'koa-bodyparser', '@koa/bodyparser on the message, too']
const nothing = { 'no parser': null, 'a consumer that leaves no body': parsed() }

const expectations: ParserBench['expectations'] = {
  'application/json': {
    body: JSON_TEXT,
    seen: { ...nothing, ...sameParsed([...usual, '@koa/bodyparser for all types'], parsed({ size: 3 })) },
  },
  'application/x-www-form-urlencoded': {
    body: 'a=1',
    seen: { ...nothing, ...sameParsed([...usual, '@koa/bodyparser for all types'], parsed({ a: '1' })) },
  },
  'text/plain': {
    body: 'text',
    seen: {
      ...nothing,
      ...Object.fromEntries(usual.map((name) => [name, null])),
      '@koa/bodyparser for all types': parsed('text'),
    },
  },
  'image/png': { body: 'bytes', seen: { ...nothing, '@koa/bodyparser for all types': null } },
}

describe.each(versions)('a body in $name', ({ Koa }) => {
  describeParsedBodies({
    parsers: Object.keys(parsers),
    expectations,
    async serve(parser) {
      const app = new Koa()
      for (const middleware of parsers[parser]!) app.use(middleware)
      const { url } = await listenWith(app.use(koaBinding(reading)))
      return `${url}/api/s3/upload`
    },
  })

  it('never reaches the library if a parser refuses it', async () => {
    const { url } = await listenWith(new Koa().use(bodyParser({ jsonLimit: 5 })).use(koaBinding(reading)))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/s3/upload`, { method: 'POST', headers, body: JSON_TEXT })
    expect(response.status).toBe(413)
  })

  it.each([
    ['application/json', '{"a":1}', bodyParser()],
    ['application/x-www-form-urlencoded', 'a=1', legacyBodyParser()],
    ['text/plain', 'text', bodyParser({ enableTypes })],
    ['image/png', 'bytes', consumer],
  ])(
    'of an upload of %s is refused if a parser has consumed the bytes',
    async (contentType, body, parser) => {
      const plugins = [db({ client: memoryAdapter(), resolveScope: () => 'user:1' })] as const
      const s3 = createS3Server({ storage: memoryStorage(), bucket: 'files', plugins })
      const app = new Koa().use(
        (ctx, next) => (ctx.method === 'PUT' ? (parser as Middleware)(ctx, next) : next()) as Promise<void>,
      )
      const { url } = await listenWith(app.use(koaBinding(s3)))
      const begun = await fetch(`${url}/api/s3/upload`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ filename: 'a', contentType, size: body.length }),
      })
      const { upload } = (await begun.json()) as { upload: { url: string; headers: Record<string, string> } }

      const response = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body })

      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
    },
  )
})
