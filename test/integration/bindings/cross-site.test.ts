import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import type { FrameworkApp } from './framework.js'
import { everyFramework, frameworks } from './frameworks.js'

const COOKIE = 'session=ann'
const scope = 'user:ann'
const object = { scope, bucket: 'files', key: 'hers.txt' }

/** Content types that a cross-site page can send with cookies and without a preflight request (CORS-safelisted in Fetch). */
const SIMPLE_TYPES = [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=b',
  'text/plain',
  null,
]
const isText = (type: string | null) => type !== null
const POSTS = [
  '/upload',
  '/upload/confirm',
  '/upload/abort',
  '/multipart',
  '/multipart/parts',
  '/multipart/list',
  '/multipart/complete',
  '/multipart/abort',
]
const GETS = [
  '/db/objects',
  '/db/object?key=hers.txt',
  '/download?key=hers.txt',
  '/upload?filename=a&contentType=a%2Fb&size=1',
  '/object?key=hers.txt&method=DELETE&_method=DELETE',
  '/multipart',
]

function serverOfAnn(client: StorageObjectStore) {
  const resolveScope = (request: Request) => (request.headers.get('cookie') === COOKIE ? scope : null)
  return createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client, resolveScope })],
  })
}

async function everything(client: StorageObjectStore): Promise<unknown> {
  return Promise.all([
    ...(['pending', 'active', 'deleted'] as const).map((status) => client.listByScope({ scope, status })),
    client.getScopeUsage(scope),
  ])
}

async function serveObjectsOfAnn(app: FrameworkApp) {
  const client = memoryAdapter({ objects: [object] })
  const { id } = await client.reserve({
    ...{ ...object, key: 'begun.txt', declaredSize: 1, uploadId: null },
    expiresAt: new Date(Date.now() + 3_600_000),
  })
  const { url } = await app.bind(serverOfAnn(client)).listen()
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(`${url}/api/s3${path}`, {
      method,
      headers: {
        cookie: COOKIE,
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
        ...headers,
      },
      // As bytes, because `fetch` adds no content type to them.
      ...(body !== undefined && { body: new TextEncoder().encode(body) }),
    })
  return { client, ask, before: await everything(client), begun: { key: 'begun.txt', id } }
}

describe.each(everyFramework)('a cross-site page, in $name', ({ app: newApp }) => {
  const served = (app = newApp()) => serveObjectsOfAnn(app)

  it.each([
    ['no body parser', () => newApp()],
    ['a parser of JSON', () => newApp().useJsonParser()],
    [
      'a parser that parses text and forms as JSON',
      () => newApp().useJsonParser(SIMPLE_TYPES.filter(isText)),
    ],
  ])('can change nothing with POST, behind %s', async (_how, app) => {
    const { client, ask, before, begun } = await served(app())
    const uploadRequest = { filename: 'a', contentType: 'text/plain', size: 1 }
    const body = JSON.stringify({ ...begun, ...uploadRequest, uploadId: 'x', partNumbers: [1] })
    for (const path of POSTS) {
      for (const type of SIMPLE_TYPES) {
        const response = await ask('POST', path, type === null ? {} : { 'content-type': type }, body)
        expect([path, type, response.status, await response.json()]).toEqual([
          ...[path, type, 400],
          expect.objectContaining({ code: 'VALIDATION_ERROR', params: { field: 'body' } }),
        ])
      }
    }
    expect(await everything(client)).toEqual(before)
    // The same request with the content type that requires a preflight does change something.
    const allowed = await ask(
      'POST',
      '/upload/abort',
      { 'content-type': 'application/json' },
      JSON.stringify(begun),
    )
    expect(allowed.status).toBe(204)
    expect(await everything(client)).not.toEqual(before)
  })

  it.each([
    'text/plain; application/json',
    'text/plain, application/json',
    'application/json2',
    'text/json',
    '',
  ])('cannot send JSON as %j', async (type) => {
    const { client, ask, before, begun } = await served()
    const response = await ask('POST', '/upload/abort', { 'content-type': type }, JSON.stringify(begun))
    expect(response.status).toBe(400)
    expect(await everything(client)).toEqual(before)
  })

  it('is not allowed by a preflight, and cannot read responses', async () => {
    const { ask } = await served()
    for (const [method, path] of [
      ...POSTS.map((path) => ['POST', path] as const),
      ['DELETE', '/object?key=hers.txt'] as const,
      ['PUT', '/_storage/x'] as const,
    ]) {
      const preflight = {
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type',
      }
      const { status, headers } = await ask('OPTIONS', path, preflight)
      expect([path, status]).toEqual([path, 405])
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
    const { status, headers } = await ask('GET', '/db/objects')
    expect([status, headers.has('access-control-allow-origin')]).toEqual([200, false])
  })

  it('can change nothing with GET or HEAD', async () => {
    const { client, ask, before } = await served()
    for (const path of GETS) {
      for (const method of ['GET', 'HEAD']) {
        const override = { 'x-http-method-override': 'DELETE' }
        await (await ask(method, path, override)).arrayBuffer()
      }
    }
    expect(await everything(client)).toEqual(before)
  })
})

describe.each(frameworks)('a cross-site page, in $name', ({ app: newApp }) => {
  it('can delete if middleware overrides the method from a parameter, as the docs warn', async () => {
    const app = newApp().use((message, _response, proceed) => {
      message.method = /_method=(\w+)/.exec(message.url!)?.[1] ?? message.method!
      proceed()
    })
    const { client, ask } = await serveObjectsOfAnn(app)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await ask('POST', '/object?key=hers.txt&_method=DELETE', form, '')
    expect(response.status).toBe(204)
    expect(await client.findActive(object)).toBeNull()
  })
})
