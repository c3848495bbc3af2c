import { createS3Client, dbClient, S3ClientError } from '@svc/db/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rejectionOf } from './rejection.js'
import { bytesAt, startClient, startServer, type Fetch } from './server.js'

afterEach(() => vi.unstubAllGlobals())

/** A `fetch` mock that returns an empty list. */
function emptyList() {
  return vi.fn<Fetch>(async () => Response.json({ objects: [] }))
}

describe('createS3Client', () => {
  it.each([
    [{}, '/api/s3/db/objects'],
    [{ basePath: '/files/' }, '/files/db/objects'],
    [{ basePath: '/' }, '/db/objects'],
    [{ baseURL: 'https://files.example.com' }, 'https://files.example.com/api/s3/db/objects'],
    [{ baseURL: 'https://example.com/v1/', basePath: '/s3' }, 'https://example.com/v1/s3/db/objects'],
    [{ baseURL: 'https://x.test', basePath: 'api/s3' }, 'https://x.test/api/s3/db/objects'],
    [{ baseURL: 'https://x.test', basePath: '' }, 'https://x.test/db/objects'],
    [{ basePath: 'https://x.test/api/s3' }, 'https://x.test/api/s3/db/objects'],
    [{ baseURL: null, basePath: null, headers: null, credentials: null }, '/api/s3/db/objects'],
  ])('sends requests below the base: %j', async (options, url) => {
    const fetch = emptyList()
    await createS3Client({ ...options, plugins: [dbClient()], fetch }).api.db.listObjects()
    expect(fetch.mock.calls.map(([requested]) => requested)).toEqual([url])
  })

  it.each([
    undefined,
    {},
    { plugins: {} },
    { plugins: [null] },
    { plugins: ['db'] },
    { plugins: [], basePath: 5 },
    { plugins: [], basePath: () => '/api' },
    { plugins: [], baseURL: new URL('https://files.example.com') },
    { plugins: [], stallSeconds: 0 },
  ])('says what to pass instead of %o', (options) => {
    expect(() => createS3Client(options as never)).toThrow(/^plugins must be an array of plugins, /)
  })

  it('uses the global fetch at the time of the call', async () => {
    const { api } = createS3Client({ plugins: [dbClient()] })
    const fetch = emptyList()
    vi.stubGlobal('fetch', fetch)
    expect(await api.db.listObjects()).toEqual({ objects: [] })
    expect(fetch).toHaveBeenCalledOnce()
  })

  it('has Next.js 13 and 14 cache no response', async () => {
    const fetch = emptyList()
    await createS3Client({ plugins: [dbClient()], fetch }).api.db.listObjects()
    expect(fetch.mock.calls).toMatchObject([['/api/s3/db/objects', { next: { revalidate: 0 } }]])
  })

  it('works with the URLSearchParams of React Native', async () => {
    vi.stubGlobal(
      'URLSearchParams',
      class extends URLSearchParams {
        override set(): never {
          throw new Error('URLSearchParams.set is not implemented')
        }
      },
    )
    const fetch = emptyList()
    await createS3Client({ plugins: [dbClient()], fetch }).api.db.listObjects({ limit: 2 })
    expect(fetch.mock.calls[0]![0]).toBe('/api/s3/db/objects?limit=2')
  })

  it('calls fetch without a receiver', async () => {
    const receivers: unknown[] = []
    const fetch = async function (this: unknown) {
      receivers.push(this)
      return Response.json({ objects: [] })
    } as Fetch
    await createS3Client({ plugins: [dbClient()], fetch }).api.db.listObjects()
    expect(receivers).toEqual([undefined])
  })

  it('accepts headers as an object, as Headers, from a function and from an async function', async () => {
    const fetch = emptyList()
    let calls = 0
    const kinds = [
      { authorization: 'Bearer 1' },
      new Headers({ authorization: 'Bearer 1' }),
      () => ({ authorization: `Bearer ${++calls}` }),
      async () => ({ authorization: `Bearer ${++calls}` }),
    ]
    for (const headers of kinds) {
      await createS3Client({ plugins: [dbClient()], fetch, headers }).api.db.listObjects()
    }
    const sent = fetch.mock.calls.map(([, init]) => new Headers(init?.headers).get('authorization'))
    expect(sent).toEqual(['Bearer 1', 'Bearer 1', 'Bearer 1', 'Bearer 2'])
  })

  it('rejects with NETWORK_ERROR if the headers function throws', async () => {
    const expired = new Error('The refresh token has expired.')
    const headers = () => Promise.reject(expired)
    const { api } = createS3Client({ plugins: [dbClient()], fetch: emptyList(), headers })
    expect(await rejectionOf(api.db.listObjects())).toMatchObject({
      code: 'NETWORK_ERROR',
      message: 'GET /db/objects: no response.',
      cause: expired,
    })
  })

  it('sends JSON bodies with their content type, despite custom headers', async () => {
    const { fetch, sent } = startClient()
    const headers = { 'x-user': 'ada', 'content-type': 'text/plain' }
    const { api } = createS3Client({ baseURL: 'http://files.test', plugins: [], fetch, headers })
    await api.upload(new Blob(['abc']))
    expect(sent.find(({ target }) => target.endsWith('/upload'))?.headers.get('content-type')).toBe(
      'application/json',
    )
  })

  it('sends no headers and credentials to signed URLs', async () => {
    const { fetch, sent } = startClient()
    const headers = { 'x-user': 'ada', authorization: 'Bearer secret' }
    const { api } = createS3Client({
      baseURL: 'http://files.test',
      plugins: [dbClient()],
      fetch,
      headers,
      credentials: 'include',
    })
    await api.upload(new File(['abc'], 'a.txt', { type: 'text/plain' }))
    const toBucket = sent.filter(({ target }) => target.includes('/_storage/'))
    const toApi = sent.filter((request) => !toBucket.includes(request))
    expect(toBucket.map(({ credentials }) => credentials)).toEqual(['omit'])
    expect([...(toBucket[0]?.headers.keys() ?? [])].sort()).toEqual([
      'content-type',
      'if-none-match',
      'x-amz-meta-attempt-id',
    ])
    expect(toApi.map(({ credentials }) => credentials)).toEqual(['include', 'include'])
    expect(toApi.every((request) => request.headers.get('authorization') === 'Bearer secret')).toBe(true)
  })

  it('always returns the same api, with only the given plugins', () => {
    const { api, useApi } = createS3Client({ plugins: [dbClient()] })
    expect(useApi()).toBe(api)
    expect(useApi()).toBe(useApi())
    const own = [
      'delete',
      'download',
      'fileURL',
      'settleUploads',
      'unfinishedUploads',
      'upload',
      'uploadRules',
    ]
    expect(Object.keys(api).sort()).toEqual(['db', ...own])
    expect(Object.keys(createS3Client({ plugins: [] }).api).sort()).toEqual(own)
  })
})

describe('api.download and api.delete', () => {
  it('return a download URL and delete the object', async () => {
    const { api, fetch } = startClient()
    const object = await api.upload(new File(['abc'], 'a b&c=d.txt'))
    const { url, expiresAt } = await api.download(object)
    expect(await bytesAt(fetch, url)).toBe('abc')
    expect(new Date(expiresAt).getTime()).toBeGreaterThan(Date.now())
    expect(await api.delete(object)).toBeUndefined()
    expect(await rejectionOf(api.delete(object))).toMatchObject({ status: 404, code: 'OBJECT_NOT_FOUND' })
    expect(await rejectionOf(api.download(object))).toMatchObject({ status: 404, code: 'OBJECT_NOT_FOUND' })
  })

  it('accept keys with any characters, in any bucket', async () => {
    const key = 'ä/日本 +&=?#%41 😀'
    const { api, fetch } = startClient({ routes: { odd: { key: () => key, bucket: 'elsewhere' } } })
    await api.upload(new Blob(['abc']))
    expect(await bytesAt(fetch, (await api.download({ key, bucket: 'elsewhere' })).url)).toBe('abc')
    expect(await rejectionOf(api.delete({ key }))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    await api.delete({ key, bucket: 'elsewhere' })
  })
})

describe('errors', () => {
  const respondingWith = (...response: ConstructorParameters<typeof Response>) =>
    createS3Client({ plugins: [dbClient()], fetch: async () => new Response(...response) }).api
  const page = '<!doctype html><h1>Bad gateway</h1>'

  it('have the status, code, message and params of the server', async () => {
    const { api } = startClient({ quota: { maxBytes: 2 } })
    expect(await rejectionOf(api.upload(new Blob(['abc'])))).toMatchObject({
      name: 'S3ClientError',
      status: 413,
      code: 'QUOTA_EXCEEDED',
      message: expect.any(String) as string,
      params: { limit: 'maxBytes', max: 2, used: 0, requested: 3 },
    })
    expect(await rejectionOf(api.db.listObjects({ limit: 101 }))).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      params: { field: 'limit' },
    })
  })

  it.each([502, 404, 401, 200])(
    'report an HTML page with status %i as UNEXPECTED_RESPONSE',
    async (status) => {
      const api = respondingWith(page, { status, headers: { 'content-type': 'text/html' } })
      for (const call of [
        () => api.db.listObjects(),
        () => api.db.getObject({ key: 'a' }),
        () => api.download({ key: 'a' }),
        () => api.delete({ key: 'a' }),
      ]) {
        expect(await rejectionOf(call())).toMatchObject({
          status,
          code: 'UNEXPECTED_RESPONSE',
          params: { body: page },
        })
      }
    },
  )

  it.each(['{"objects":null}', '{"code":"OBJECT_NOT_FOUND"}', '{"error":"x"}', '[]', 'null', '7', '""', ''])(
    'report the undocumented body %s as UNEXPECTED_RESPONSE',
    async (body) => {
      for (const status of [200, 404, 500]) {
        expect(await rejectionOf(respondingWith(body, { status }).db.getObject({ key: 'a' }))).toMatchObject({
          status,
          code: 'UNEXPECTED_RESPONSE',
        })
      }
    },
  )

  it('report a status of 304 as UNEXPECTED_RESPONSE', async () => {
    const api = respondingWith(null, { status: 304 })
    expect(await rejectionOf(api.db.listObjects())).toMatchObject({
      status: 304,
      code: 'UNEXPECTED_RESPONSE',
    })
  })

  it('have no status if there is no response', async () => {
    const cause = new TypeError('fetch failed')
    const { api } = createS3Client({ plugins: [dbClient()], fetch: () => Promise.reject(cause) })
    const error = await rejectionOf(api.db.listObjects())
    expect(error).toMatchObject({ code: 'NETWORK_ERROR', cause })
    expect(error.status).toBeUndefined()
    expect(error.params).toBeUndefined()
  })

  it('distinguish an abort from a network failure', async () => {
    const { server } = startServer()
    const fetch: Fetch = (input, init) => server.handler(new Request(input, init))
    const { api } = createS3Client({ baseURL: 'http://files.test', plugins: [dbClient()], fetch })
    const reason = new Error('The component is gone.')
    const error = await rejectionOf(api.db.listObjects({ signal: AbortSignal.abort(reason) }))
    expect(error).toMatchObject({ code: 'ABORTED', cause: reason })
    expect(error.status).toBeUndefined()
    expect(error).toBeInstanceOf(S3ClientError)
  })
})
