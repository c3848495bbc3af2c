import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { bodyParser } from '@koa/bodyparser'
import type { Middleware } from 'koa'
import legacyBodyParser from 'koa-bodyparser'
import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { koaBinding } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { parsed, reading, streamed, type BodySeen } from '../bindings/reading-handler.js'
import { listenWith, versions } from './versions.js'

/** Takes the whole body and leaves nothing, as @koa/multer does with the fields it doesn't know. */
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

/** For each content type: what the library gets after each parser; `null`: the stream. */
const expectations: Readonly<Record<string, { body: string; seen: Record<string, BodySeen | null> }>> = {
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

const table = Object.entries(expectations).flatMap(([type, { body, seen }]) =>
  Object.entries(seen).map(([parser, what]) => ({ type, body, parser, expected: what ?? streamed(body) })),
)

describe.each(versions)('bodies in $name', ({ Koa }) => {
  async function serve(before: readonly Middleware[]) {
    const app = new Koa()
    for (const middleware of before) app.use(middleware)
    const { url } = await listenWith(app.use(koaBinding(reading)))
    return `${url}/api/s3/upload`
  }

  it.each(table)('$type after $parser', async ({ type, body, parser, expected }) => {
    const url = await serve(parsers[parser]!)
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
    expect(await response.json()).toEqual(expected)
  })

  it.each(Object.keys(parsers))('an empty body after %s', async (parser) => {
    const url = await serve(parsers[parser]!)
    const chunked = () =>
      ({ body: Readable.toWeb(Readable.from([])), duplex: 'half' }) as unknown as RequestInit
    for (const type of ['application/json', 'image/png']) {
      for (const init of [{ body: '' }, chunked()]) {
        const response = await fetch(url, { method: 'PUT', headers: { 'content-type': type }, ...init })
        expect(await response.json()).toEqual(streamed(''))
      }
    }
    expect(await (await fetch(url)).json()).toEqual(streamed(''))
  })

  it('a compressed body after @koa/bodyparser', async () => {
    const url = await serve([bodyParser()])
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const response = await fetch(url, { method: 'POST', headers, body: gzipSync(JSON_TEXT) })
    expect(await response.json()).toEqual(parsed({ size: 3 }))
  })

  it('a parser after the binding gets the bodies of other routes', async () => {
    const app = new Koa().use(koaBinding(reading)).use(bodyParser())
    app.use((ctx) => void (ctx.body = ctx.request.body))
    const { url } = await listenWith(app)
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON_TEXT }

    expect(await (await fetch(`${url}/other`, post)).json()).toEqual({ size: 3 })
    expect(await (await fetch(`${url}/api/s3/upload`, post)).json()).toEqual(streamed(JSON_TEXT))
  })

  it('a parser that refuses the body comes before the library', async () => {
    const url = await serve([bodyParser({ jsonLimit: 5 })])
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON_TEXT })
    expect(response.status).toBe(413)
  })

  it.each([
    ['application/json', '{"a":1}', bodyParser()],
    ['application/x-www-form-urlencoded', 'a=1', legacyBodyParser()],
    ['text/plain', 'text', bodyParser({ enableTypes })],
    ['image/png', 'bytes', consumer],
  ])('an upload of %s whose bytes were consumed is refused', async (contentType, body, parser) => {
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
  })
})
