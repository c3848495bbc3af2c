import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import Koa, { type Middleware } from 'koa'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { koaBinding } from '@svc/db/koa'
import { unfinishedBody } from '../bindings/response-bodies.js'
import { listenWith } from './versions.js'

const basePath = '/api/s3'

function chunks(...texts: string[]) {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
}

describe('outer middleware in Koa 3', () => {
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

  it('can have set ctx.respond to false', async () => {
    const response = await ask(
      async () => Response.json('sent'),
      async (ctx, next) => {
        ctx.respond = false
        await next()
      },
    )
    expect(await response.json()).toBe('sent')
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

  it('can read a response without a content type unchanged', async () => {
    for (const [respond, status, text] of [
      [() => new Response(chunks('a', 'b')), 200, 'ab'],
      [() => new Response(chunks('ab')), 200, 'ab'],
      [() => new Response(null, { status: 200 }), 200, ''],
      [() => new Response(null, { status: 204 }), 204, ''],
      [() => new Response(null, { status: 304 }), 304, ''],
    ] as const) {
      const response = await ask(
        async () => respond(),
        (_ctx, next) => next(),
      )
      expect([response.status, await response.text()]).toEqual([status, text])
      expect(response.headers.get('content-type')).toBeNull()
    }
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
