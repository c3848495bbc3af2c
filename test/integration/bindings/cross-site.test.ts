import { describe, expect, it } from 'vitest'
import { createS3Server, db, memoryStorage, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { everyFramework } from './frameworks.js'

const COOKIE = 'session=ann'
const scope = 'user:ann'
const object = { scope, bucket: 'files', key: 'hers.txt' }

/** Content types that a cross-site page can send with cookies and without a preflight request (CORS-safelisted in Fetch). */
const SIMPLE_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=b', 'text/plain']
const POSTS = [
  ...['/upload', '/upload/confirm', '/upload/abort'],
  ...['/multipart', '/multipart/parts', '/multipart/list', '/multipart/complete', '/multipart/abort'],
]
const GETS = [
  ...['/db/objects', '/db/object?key=hers.txt', '/download?key=hers.txt', '/upload/rules', '/multipart'],
  ...['/upload?filename=a&contentType=a%2Fb&size=1', '/object?key=hers.txt&method=DELETE&_method=DELETE'],
]

async function everything(client: StorageObjectStore): Promise<unknown> {
  return Promise.all([
    ...(['pending', 'active', 'deleted'] as const).map((status) => client.listByScope({ scope, status })),
    client.getScopeUsage(scope),
  ])
}

/** Creates a server with an object and a begun upload of Ann, whose browser sends her cookie. */
async function serverOfAnn() {
  const client = memoryAdapter({ objects: [object] })
  const { id } = await client.reserve({
    ...{ ...object, key: 'begun.txt', declaredSize: 1, uploadId: null },
    expiresAt: new Date(Date.now() + 3_600_000),
  })
  const resolveScope = (request: Request) => (request.headers.get('cookie') === COOKIE ? scope : null)
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client, resolveScope })],
  })
  return { s3, client, begun: { key: 'begun.txt', id } }
}

function crossSiteRequest(url: string, method: string, headers: Record<string, string> = {}, body?: string) {
  return new Request(url, {
    method,
    headers: {
      ...{ cookie: COOKIE, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      ...headers,
    },
    // As bytes, because a string would add a content type.
    ...(body !== undefined && { body: new TextEncoder().encode(body) }),
  })
}

describe('a cross-site page', () => {
  async function served() {
    const { s3, client, begun } = await serverOfAnn()
    const ask = (method: string, path: string, headers?: Record<string, string>, body?: string) =>
      s3.handler(crossSiteRequest(`https://app.example/api/s3${path}`, method, headers, body))
    return { client, begun, ask, before: await everything(client) }
  }

  it('can change nothing with POST', async () => {
    const { client, ask, before, begun } = await served()
    const uploadRequest = { filename: 'a', contentType: 'text/plain', size: 1 }
    const body = JSON.stringify({ ...begun, ...uploadRequest, uploadId: 'x', partNumbers: [1] })
    const tricks = ['text/plain; application/json', 'text/plain, application/json', 'text/json', '']
    for (const path of POSTS) {
      for (const type of [...SIMPLE_TYPES, ...tricks, null]) {
        const response = await ask('POST', path, type === null ? {} : { 'content-type': type }, body)
        expect([path, type, response.status, await response.json()]).toEqual([
          ...[path, type, 400],
          expect.objectContaining({ code: 'VALIDATION_ERROR', params: { field: 'body' } }),
        ])
      }
    }
    expect(await everything(client)).toEqual(before)
  })

  it('is not allowed by a preflight, and cannot read responses', async () => {
    const { ask } = await served()
    const requests = POSTS.map((path) => ['POST', path] as const)
    for (const [method, path] of [
      ...requests,
      ['DELETE', '/object?key=hers.txt'],
      ['PUT', '/_storage/x'],
    ] as const) {
      const { status, headers } = await ask('OPTIONS', path, {
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type',
      })
      expect([path, status]).toEqual([path, 405])
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
    const { status, headers } = await ask('GET', '/db/objects')
    expect([status, headers.has('access-control-allow-origin')]).toEqual([200, false])
  })

  it('can change nothing with GET or HEAD', async () => {
    const { client, ask, before } = await served()
    for (const path of GETS) {
      for (const method of ['GET', 'HEAD']) await ask(method, path, { 'x-http-method-override': 'DELETE' })
    }
    expect(await everything(client)).toEqual(before)
  })
})

describe.each(everyFramework)('a cross-site page, in $name', ({ app: newApp }) => {
  it('can change nothing, even if a parser parses text and forms as JSON', async () => {
    const { s3, client, begun } = await serverOfAnn()
    const before = await everything(client)
    const { url } = await newApp().useJsonParser(SIMPLE_TYPES).bind(s3).listen()
    const ask = (headers: Record<string, string>) =>
      fetch(crossSiteRequest(`${url}/api/s3/upload/abort`, 'POST', headers, JSON.stringify(begun)))

    for (const type of [...SIMPLE_TYPES, null]) {
      const { status } = await ask(type === null ? {} : { 'content-type': type })
      expect([type, status]).toEqual([type, 400])
    }
    expect(await everything(client)).toEqual(before)

    // The same request with the content type that requires a preflight does change something.
    expect((await ask({ 'content-type': 'application/json' })).status).toBe(204)
    expect(await everything(client)).not.toEqual(before)
  })
})
