import { describe, expect, it, vi } from 'vitest'
import { StorageError, type ErrorParams } from '@svc/db'
import type { Endpoint } from '../../../../src/core/http/endpoint.js'
import {
  checkBasePath,
  createHandler,
  type HandlerOptions,
  type Subtree,
} from '../../../../src/core/http/handler.js'
import { errorResponse, toResponse } from '../../../../src/core/http/response.js'

const NO_DESCRIPTION = { summary: '', answer: { status: 204, description: '' }, errors: [] } as const

function endpoint(method: Endpoint['method'], path: Endpoint['path'], run: Endpoint['run']): Endpoint {
  return { method, path, operation: `${method} ${path}`, describe: () => NO_DESCRIPTION, run }
}

const responding = (body: object) => async () => ({ status: 200, body }) as const

function handlerOf(
  endpoints: readonly Endpoint[],
  subtrees: readonly Subtree[] = [],
  basePath = '/api/s3',
  trailingSlash: boolean | null = null,
) {
  const report = vi.fn()
  const resolveScope = vi.fn(async () => 'user:1')
  const handler = createHandler({ basePath, trailingSlash, endpoints, subtrees, report, resolveScope })
  const ask = (method: string, path: string, options?: HandlerOptions) =>
    handler(new Request(`http://localhost:3000${path}`, { method }), options)
  return { handler, ask, report, resolveScope }
}

describe('the router', () => {
  const table = [
    endpoint('GET', '/thing', responding({ got: true })),
    endpoint('DELETE', '/thing', async () => ({ status: 204 })),
    endpoint('POST', '/act', async () => ({ status: 201, body: { made: true } })),
  ]

  it.each([
    ['GET', '/api/s3/thing?a=b#c', 200, '{"got":true}'],
    ['DELETE', '/api/s3/thing', 204, ''],
    ['POST', '/api/s3/act', 201, '{"made":true}'],
    ['GET', '/api/s3/_storage', 404, null],
    ['GET', '/api/s3thing', 404, null],
    ['GET', '/x/api/s3/thing', 404, null],
    ['OPTIONS', '/api/s3/thing', 405, null],
    ['HEAD', '/api/s3/act', 405, ''],
  ])('%s %s returns %i', async (method, path, status, body) => {
    const { ask, resolveScope } = handlerOf(table)
    const response = await ask(method, path)
    expect(response.status).toBe(status)
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    if (body !== null) expect(await response.text()).toBe(body)
    if (status === 405)
      expect(response.headers.get('allow')).toBe(path === '/api/s3/act' ? 'POST' : 'GET, HEAD, DELETE')
    expect(resolveScope).not.toHaveBeenCalled()
  })

  it.each([
    ['by default', undefined, undefined, true],
    ['never for a binding', undefined, false, false],
    ['for a binding if the server does', true, false, true],
    ['never if the server does not', false, undefined, false],
  ])('ignores one slash at the end of a path: %s', async (_, ofServer, ofCaller, isIgnored) => {
    const { ask } = handlerOf(table, [], '/api/s3', ofServer ?? null)
    const options = ofCaller === undefined ? {} : { trailingSlash: ofCaller }
    expect((await ask('GET', '/api/s3/thing/', options)).status).toBe(isIgnored ? 200 : 404)
    expect((await ask('POST', '/api/s3/thing/', options)).status).toBe(isIgnored ? 405 : 404)
    expect((await ask('GET', '/api/s3/thing//', options)).status).toBe(404)
  })

  it('accepts null in place of options, as some runtimes pass it', async () => {
    const { handler } = handlerOf(table)
    expect((await handler(new Request('http://localhost/api/s3/thing'), null!)).status).toBe(200)
  })

  it('refuses the event or the context that a framework passes in place of a Request', async () => {
    const { handler } = handlerOf(table)
    const url = new URL('http://localhost/api/s3/thing')
    for (const event of [
      { request: new Request(url), url },
      { url: '/api/s3/thing', headers: {} },
      undefined,
    ]) {
      await expect(handler(event as unknown as Request)).rejects.toThrow(
        /^handler expects a Request: .*event\.request/,
      )
    }
  })

  it('says that the body of a Request was read before', async () => {
    const read = endpoint('POST', '/act', async ({ source }) => ({ status: 200, body: await source.json() }))
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://localhost/api/s3/act', { method: 'POST', headers, body: '{}' })
    await request.text()
    const response = await handlerOf([read]).handler(request)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('has read the body'),
    ])
  })

  it('passes the query, the body, the base URL and the scope of the request to the endpoint', async () => {
    const seen: unknown[] = []
    const { ask, handler } = handlerOf([
      endpoint('POST', '/act', async (exchange) => {
        const { source, baseURL, request } = exchange
        const scope = await exchange.resolveScope()
        seen.push(source.query.get('a'), await source.json(), baseURL, scope, request.method)
        return { status: 204 }
      }),
    ])
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', body: '{"b":1}', headers }
    await handler(new Request('http://localhost:3000/api/s3/act?a=%20', init))
    expect(seen).toEqual([' ', { b: 1 }, 'http://localhost:3000/api/s3', 'user:1', 'POST'])

    seen.length = 0
    const body = { kind: 'parsed', value: { c: 1 } } as const
    await handler(new Request('https://example.com/v1/act', init), { basePath: '/v1', body })
    expect(seen).toEqual([null, { c: 1 }, 'https://example.com/v1', 'user:1', 'POST'])
    expect((await ask('POST', '/api/s3/act')).status).toBe(400)
  })

  const circular: Record<string, unknown> = {}
  circular['itself'] = circular
  const throwing = () => {
    throw new Error('can not be read')
  }
  it.each<[string, () => object, object | undefined]>([
    ['a BigInt', () => ({ max: 5n, used: 3, limit: 'maxBytes' }), { used: 3, limit: 'maxBytes' }],
    ['a BigInt alone', () => ({ max: 5n }), undefined],
    ['a cycle', () => ({ circular, used: 3 }), { used: 3 }],
    [
      'a getter that throws',
      () => Object.defineProperty({ used: 3 }, 'max', { get: throwing, enumerable: true }),
      { used: 3 },
    ],
    ['a toJSON that throws', () => ({ max: { toJSON: throwing }, used: 3 }), { used: 3 }],
    ['a toJSON of all that throws', () => ({ used: 3, toJSON: throwing }), { used: 3 }],
    [
      'a BigInt beside an own __proto__',
      () => Object.assign(JSON.parse('{"__proto__":3}') as object, { max: 5n }),
      JSON.parse('{"__proto__":3}') as object,
    ],
    ['names that can not be listed', () => new Proxy({}, { ownKeys: throwing }), undefined],
  ])('leaves out params of a StorageError that it can not send: %s', async (_, paramsOf, params) => {
    const error = new StorageError('QUOTA_EXCEEDED', { message: 'Full.', params: paramsOf() as ErrorParams })
    const { ask, report } = handlerOf([endpoint('GET', '/thing', () => Promise.reject(error))])
    const response = await ask('GET', '/api/s3/thing')
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({
      code: 'QUOTA_EXCEEDED',
      message: 'Full.',
      ...(params && { params }),
    })
    expect(report.mock.calls).toEqual([
      [
        expect.objectContaining({ name: 'TypeError', cause: error }),
        { request: expect.any(Request) as Request, operation: 'GET /thing' },
      ],
    ])
  })

  // Whether such params can be sent depends on the version of Node.
  it('responds with the other params of a StorageError if one is nested deeply', async () => {
    let deep: unknown = 1
    for (let level = 0; level < 20_000; level++) deep = [deep]
    const params = { deep, used: 3 } as ErrorParams
    const error = new StorageError('QUOTA_EXCEEDED', { message: 'Full.', params })
    const { ask } = handlerOf([endpoint('GET', '/thing', () => Promise.reject(error))])
    const response = await ask('GET', '/api/s3/thing')
    expect(response.status).toBe(413)
    expect(await response.text()).toContain('"used":3')
  })
})

describe('a subtree', () => {
  const serve = vi.fn(async () => new Response('served', { status: 202 }))
  const subtree: Subtree = { prefix: '/_storage', operation: 'storage', serve }

  it('is served by its own handler, with the rest of the path unchanged', async () => {
    serve.mockClear()
    const { ask, resolveScope } = handlerOf([], [subtree])
    const response = await ask('PUT', '/api/s3/_storage/a%2Fb/c%20d?x=1')
    expect(await response.text()).toBe('served')
    expect(serve).toHaveBeenCalledWith({
      request: expect.any(Request) as Request,
      body: expect.objectContaining({ kind: 'stream' }) as unknown,
      baseURL: 'http://localhost:3000/api/s3/_storage',
      path: 'a%2Fb/c%20d',
    })
    expect(resolveScope).not.toHaveBeenCalled()
  })

  it('has its headers and its stream sent as they are', async () => {
    const body = new ReadableStream<Uint8Array>()
    const headers = new Headers([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['content-length', '5'],
    ])
    const file = { ...subtree, serve: async () => new Response(body, { status: 206, headers }) }
    const response = await handlerOf([], [file]).ask('GET', '/api/s3/_storage/a')
    expect([response.status, [...response.headers]]).toEqual([206, [...headers]])
    // Some runtimes know the length only of a stream that is passed on.
    expect(response.body).toBe(body)
  })

  it('starts after its slash', async () => {
    serve.mockClear()
    const { ask } = handlerOf([], [subtree])
    for (const path of ['/api/s3/_storage', '/api/s3/_storagex', '/_storage/a', '/api/s3']) {
      expect((await ask('GET', path)).status).toBe(404)
    }
    expect(serve).not.toHaveBeenCalled()
    expect((await ask('GET', '/api/s3/_storage/')).status).toBe(202)
    expect(serve).toHaveBeenCalledWith(expect.objectContaining({ path: '' }))
  })

  it("responds to HEAD without a body, and cancels the body's stream", async () => {
    const cancelled = vi.fn(() => Promise.reject(new Error('already closed')))
    const file = { ...subtree, serve: async () => new Response(new ReadableStream({ cancel: cancelled })) }
    const response = await handlerOf([], [file]).ask('HEAD', '/api/s3/_storage/a')
    expect(response.status).toBe(200)
    expect(response.body).toBeNull()
    expect(cancelled).toHaveBeenCalledTimes(1)
  })
})

describe('Retry-After', () => {
  const retryAfter = (error: StorageError) => toResponse(errorResponse(error)).headers.get('retry-after')

  it('is absent if only an operator can help', () => {
    const unusable = new StorageError('DATABASE_UNAVAILABLE', { retryable: false })
    expect(unusable.status).toBe(503)
    expect(retryAfter(unusable)).toBeNull()
  })

  it('is sent only with 503', () => {
    expect(retryAfter(new StorageError('DATABASE_UNAVAILABLE'))).toMatch(/^[1-9]\d*$/)
    for (const code of ['STORAGE_UNAVAILABLE', 'INTERNAL_ERROR', 'QUOTA_EXCEEDED'] as const) {
      expect(retryAfter(new StorageError(code))).toBeNull()
    }
  })
})

describe('a base path', () => {
  it.each([
    ['/api/s3', '/api/s3'],
    ['/api/s3/', '/api/s3'],
    ['/api/s3///', '/api/s3'],
    ['/', ''],
    ['', ''],
    ['/a-b_c.d~e/f', '/a-b_c.d~e/f'],
    ['/caf%C3%A9', '/caf%C3%A9'],
  ])('%j becomes %j', (given, taken) => {
    expect(checkBasePath('db()', given)).toBe(taken)
  })

  it.each([
    'api/s3',
    'http://localhost/api',
    '//host/api',
    '//[',
    '/a b',
    '/café',
    '/a?b',
    '/a#b',
    '/a/../b',
    '/a/./b',
    '\\a',
    '/a\\b',
    '/a\n',
    ' /a',
    5,
    null,
    undefined,
    {},
  ])('%j throws a TypeError that names the caller and shows what is allowed', (given) => {
    expect(() => checkBasePath('db()', given)).toThrow(TypeError)
    expect(() => checkBasePath('db()', given)).toThrow(
      /^db\(\): basePath must be a path such as "\/api\/s3" \(got /,
    )
  })
})
