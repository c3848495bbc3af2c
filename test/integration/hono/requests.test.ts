import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { expect, it } from 'vitest'
import { createObjectAccessGuard, createS3Server, db, memoryStorage, type Handler } from '@svc/db'
import { fetchRequest, honoBinding } from '@svc/db/hono'
import { memoryAdapter } from '@svc/db/memory'
import { failingBody, unfinishedBody } from '../bindings/response-bodies.js'

const basePath = '/api/s3'
const client = memoryAdapter({ objects: [{ scope: 'user:ann', bucket: 'files', key: 'hers.txt' }] })

it('shows the headers of a replaced request until the scope is resolved', async () => {
  const resolveScope = ({ headers }: Request) => headers.get('x-scope')
  const guard = createObjectAccessGuard({ client, resolveScope })
  const app = new Hono()
    .use(async (c, next) => {
      const before = fetchRequest(c)
      c.req.raw = new Request(c.req.raw, { headers: { 'x-scope': 'user:ann' } })
      expect(fetchRequest(c)).toBe(before)
      await next()
    })
    .get('/size', async (c) => {
      await guard({ request: fetchRequest(c), bucket: 'files', key: 'hers.txt' })
      c.req.raw = new Request(c.req.raw, { headers: { 'x-scope': 'user:eve' } })
      return c.text(fetchRequest(c).headers.get('x-scope') ?? '')
    })

  const response = await app.request('/size', { headers: { 'x-scope': 'user:eve' } })

  expect(await response.text()).toBe('user:ann')
})

it('extends the headers that middleware sets before and after', async () => {
  const wrapped: Handler = async () => {
    const headers = new Headers({ 'cache-control': 'private, no-store', vary: 'Accept' })
    headers.append('set-cookie', 'library=1')
    return Response.json(null, { headers })
  }
  const { handler } = db({ client, resolveScope: () => 'user:ann' })
  for (const [served, path, vary, cookies] of [
    [wrapped, '/x', 'Accept, Origin', ['early=1', 'library=1', 'late=1']],
    // The library's own handler returns plain objects to bindings instead.
    [handler, '/db/objects', 'Origin', ['early=1', 'late=1']],
    [handler, '/nowhere', 'Origin', ['early=1', 'late=1']],
  ] as const) {
    const app = new Hono()
      .use(cors({ origin: 'https://app.example', credentials: true }))
      .use(async (c, next) => {
        c.header('cache-control', 'public')
        c.header('set-cookie', 'early=1')
        await next()
        c.header('set-cookie', 'late=1', { append: true })
      })
      .use(honoBinding({ basePath, handler: served }))

    const response = await app.request(basePath + path, { headers: { origin: 'https://app.example' } })

    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...{ 'cache-control': 'private, no-store', 'content-type': 'application/json', vary },
      'access-control-allow-origin': 'https://app.example',
    })
    expect(response.headers.getSetCookie()).toEqual(cookies)
  }
})

it('cancels the body of a response to HEAD', async () => {
  const { body, cancelled } = unfinishedBody('bytes')
  const handler: Handler = async () => new Response(body, { headers: { 'content-length': '5' } })
  const app = new Hono().use(honoBinding({ basePath, handler }))

  const response = await app.request('/api/s3/x', { method: 'HEAD' })

  await cancelled
  expect([response.headers.get('content-length'), await response.text()]).toEqual(['5', ''])
})

it.each([false, true])(
  'cancels a body that never yields when the client disconnects (before: %s)',
  async (before) => {
    const { body, cancelled } = unfinishedBody()
    const disconnect = new AbortController()
    const handler: Handler = async () => {
      if (before) disconnect.abort()
      else setImmediate(() => disconnect.abort())
      return new Response(body)
    }
    const app = new Hono().use(honoBinding({ basePath, handler }))

    await app.request('/api/s3/x', { signal: disconnect.signal })

    await cancelled
  },
)

it('streams a body, and passes on that it failed or was cancelled', async () => {
  const failing = new Hono().use(
    honoBinding({ basePath, handler: async () => new Response(failingBody(new Error('broken'), 'a', 'b')) }),
  )
  const failed = await failing.request('/api/s3/x')
  await expect(failed.text()).rejects.toThrow('broken')

  const { body, cancelled } = unfinishedBody('a', 'b', 'c')
  const endless = new Hono().use(honoBinding({ basePath, handler: async () => new Response(body) }))
  await (await endless.request('/api/s3/x')).body!.cancel()
  await cancelled
})

it.each([
  ['within the limit', { 'content-length': '4' }, 'abcd', 'abcd'],
  ['above the limit', { 'content-length': '5' }, 'abcde', null],
  ['of a false length', { 'content-length': '4' }, 'abcde', null],
  ['of no length', {}, 'abcd', 'a stream'],
  ['of a length that is no number', { 'content-length': '4, 4' }, 'abcd', 'a stream'],
  ['in chunks', { 'content-length': '4', 'transfer-encoding': 'chunked' }, 'abcd', 'a stream'],
])('reads a body at once if its length is known: %s', async (_, headers, sent, expected) => {
  const handler: Handler = async (_request, { body } = {}) => {
    const read = body?.kind === 'stream' ? body.read : undefined
    if (!read) return Response.json('a stream')
    const bytes = await read(4)
    return Response.json(bytes && new TextDecoder().decode(bytes))
  }
  const app = new Hono().use(honoBinding({ basePath, handler }))

  const response = await app.request('/api/s3/x', { method: 'POST', headers, body: sent })

  expect(await response.json()).toBe(expected)
})

it('counts a body that middleware has decompressed, whatever length was announced', async () => {
  const chunk = new Uint8Array(65_536)
  const chunks = 1000
  const zipped = await new Response(
    new Blob(Array.from({ length: chunks }, () => chunk)).stream().pipeThrough(new CompressionStream('gzip')),
  ).bytes()
  let read = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      read += part.length
      controller.enqueue(part)
    },
  })
  const s3 = createS3Server({
    storage: memoryStorage({ baseURL: 'https://files.example' }),
    bucket: 'files',
    plugins: [db({ client, resolveScope: () => 'user:ann' })],
  })
  const app = new Hono()
    .use(async (c, next) => {
      const { raw } = c.req
      const body = raw.body!.pipeThrough(new DecompressionStream('gzip')).pipeThrough(counter)
      c.req.raw = new Request(raw, { body, duplex: 'half' } as RequestInit)
      await next()
    })
    .use(honoBinding(s3))
  const headers = {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': String(zipped.length),
  }
  const response = await app.request('/api/s3/upload', { method: 'POST', headers, body: zipped })
  expect(await response.json()).toMatchObject({ code: 'VALIDATION_ERROR', params: { field: 'body' } })
  expect(zipped.length).toBeLessThan(65_536)
  expect(read).toBeLessThan((chunks * chunk.length) / 100)
})
