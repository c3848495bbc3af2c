import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Middleware } from 'koa'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { koaBinding } from '@svc/db/koa'
import { echo } from '../bindings/echo.js'
import { failingBody, unfinishedBody } from '../bindings/response-bodies.js'
import { listenWith, versions } from './versions.js'

const basePath = '/api/s3'

function chunks(...texts: string[]) {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
}

describe.each(versions)('outer middleware, in $name', ({ Koa }) => {
  async function ask(handler: Handler, middleware: Middleware, init: RequestInit = {}) {
    const { url } = await listenWith(new Koa().use(middleware).use(koaBinding({ basePath, handler })))
    return fetch(`${url}/api/s3/x`, init)
  }

  it('can read the response and add headers', async () => {
    const seen: unknown[] = []
    const response = await ask(
      async () => Response.json({ a: 1 }, { status: 201, headers: { 'x-own': '1' } }),
      async (ctx, next) => {
        await next()
        seen.push(ctx.status, ctx.type, ctx.length, String(ctx.body), ctx.response.get('x-own'))
        ctx.set('x-response-time', '3ms')
      },
    )
    expect(seen).toEqual([201, 'application/json', 7, '{"a":1}', '1'])
    expect([response.headers.get('x-response-time'), await response.json()]).toEqual(['3ms', { a: 1 }])
  })

  it.each([
    ['in one chunk', () => Response.json('x'.repeat(1000))],
    ['in many', () => new Response(chunks('"', 'x'.repeat(1000), '"'))],
  ])('can transform a body %s', async (_how, respond) => {
    const response = await ask(
      async () => respond(),
      async (ctx, next) => {
        await next()
        const { body } = ctx as { body: Readable | Buffer }
        ctx.set('content-encoding', 'gzip')
        ctx.remove('content-length')
        ctx.body = (Buffer.isBuffer(body) ? Readable.from([body]) : body).pipe(createGzip())
      },
    )
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(await response.json()).toBe('x'.repeat(1000))
  })

  it('can replace the response, which cancels the body of the library', async () => {
    const { body, cancelled } = unfinishedBody('a', 'b', 'c')
    const response = await ask(
      async () => new Response(body),
      async (ctx, next) => {
        await next()
        ctx.body = 'instead'
      },
    )
    expect(await response.text()).toBe('instead')
    await cancelled
  })

  it('catches unexpected errors', async () => {
    const response = await ask(
      () => Promise.reject(new Error('broken')),
      async (ctx, next) => {
        await next().catch((error: Error) => {
          ctx.status = 418
          ctx.body = error.message
        })
      },
    )
    expect([response.status, await response.text()]).toEqual([418, 'broken'])
  })

  it.each([[new Error('broken')], [undefined], [null], ['word']])(
    'can be missing: the application gets the error %s',
    async (reason) => {
      const errors: unknown[] = []
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- tests values that are not an Error
      const handler: Handler = () => Promise.reject(reason)
      const app = new Koa().use(koaBinding({ basePath, handler }))
      app.on('error', (error) => errors.push(error))
      const { url } = await listenWith(app)

      const response = await fetch(`${url}/api/s3/x`)

      expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error'])
      expect(errors).toEqual([reason instanceof Error ? reason : expect.objectContaining({ cause: reason })])
    },
  )

  it('catches the error of a body that fails before its first bytes', async () => {
    const response = await ask(
      async () => new Response(failingBody(new Error('broken'))),
      (ctx, next) => next().catch(() => void (ctx.body = 'caught')),
    )
    expect(await response.text()).toBe('caught')
  })

  it.each([
    ['a body without a type', () => new Response(chunks('a', 'b')), 200, 'ab'],
    ['bytes without a type', () => new Response(chunks('ab')), 200, 'ab'],
    ['no body', () => new Response(null, { status: 200 }), 200, ''],
    ['nothing', () => new Response(null, { status: 204 }), 204, ''],
    ['not modified', () => new Response(null, { status: 304 }), 304, ''],
  ])('can read %s unchanged', async (_what, respond, status, text) => {
    const response = await ask(
      async () => respond(),
      (_ctx, next) => next(),
    )
    expect([response.status, await response.text()]).toEqual([status, text])
    expect(response.headers.get('content-type')).toBeNull()
  })

  it('can read the status and headers of the response to HEAD', async () => {
    const seen: unknown[] = []
    const response = await ask(
      async () => new Response(null, { status: 404, headers: { 'x-own': '1', 'content-length': '5' } }),
      async (ctx, next) => {
        await next()
        seen.push(ctx.status, ctx.body)
      },
      { method: 'HEAD' },
    )
    expect(seen).toEqual([404, undefined])
    expect([response.status, response.headers.get('x-own'), response.headers.get('content-length')]).toEqual([
      404,
      '1',
      '5',
    ])
  })
})

describe.each(versions)('requests outside the library, in $name', ({ Koa }) => {
  it('get Koa’s 404 response', async () => {
    const { url } = await listenWith(new Koa().use(koaBinding(echo)))
    const response = await fetch(`${url}/missing`)
    expect([response.status, await response.text()]).toEqual([404, 'Not Found'])
  })

  it('keep their status, headers, body and errors', async () => {
    const app = new Koa()
    app.use((ctx, next) => next().catch((error: Error) => void (ctx.body = error.message)))
    app.use(koaBinding(echo))
    app.use((ctx) => {
      if (ctx.path === '/broken') throw new Error('of the application')
      ctx.status = 203
      ctx.set('x-own', '1')
      ctx.body = { mine: true }
    })
    const { url } = await listenWith(app)

    const response = await fetch(`${url}/own`)
    expect([response.status, response.headers.get('x-own'), await response.json()]).toEqual([
      203,
      '1',
      { mine: true },
    ])
    expect(await (await fetch(`${url}/broken`)).text()).toBe('of the application')
  })

  it('stream bodies in both directions', async () => {
    const app = new Koa().use(koaBinding(echo)).use(async (ctx) => {
      ctx.respond = false
      ctx.res.statusCode = 200
      await pipeline(ctx.req, ctx.res)
    })
    const { url } = await listenWith(app)
    const parts = Array.from({ length: 50 }, (_, i) => Buffer.alloc(10_000, i))
    const body = Readable.toWeb(Readable.from(parts))

    const response = await fetch(url, { method: 'PUT', body, duplex: 'half' } as unknown as RequestInit)

    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(parts))).toBe(true)
  })
})
