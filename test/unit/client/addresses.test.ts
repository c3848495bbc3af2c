import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { createS3Client } from '@svc/db/client'
import { diskStorage } from '@svc/db/disk'
import { memoryAdapter } from '@svc/db/memory'
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { timeUntilSettled } from './fake-time.js'
import { rejectionOf } from './rejection.js'
import type { Fetch } from './server.js'
import { MULTIPART_MIN_SIZE } from '../../../src/client/upload/sizes.js'

const directory = mkdtempSync(join(tmpdir(), 'svc-db-addresses-'))
afterAll(() => rmSync(directory, { recursive: true }))
afterEach(() => vi.unstubAllGlobals())

const API = 'https://app.test/api/s3'
const storages = { memoryStorage, diskStorage: () => diskStorage({ directory }) }

/** Serves the API at another address than clients know, like a proxy, and lists the URLs that they request. */
function serveBehindProxy(storage = memoryStorage(), behind = API, basePath = '/api/s3') {
  const resolveScope = () => 'user:ann'
  const { handler } = createS3Server({
    storage,
    bucket: 'uploads',
    basePath,
    plugins: [db({ client: memoryAdapter(), resolveScope })],
  })
  const requested: string[] = []
  const fetch: Fetch = async (input, init) => {
    const { href } = new URL(input as string, 'https://app.test')
    requested.push(href)
    if (!href.startsWith(`${API}/`)) throw new TypeError('fetch failed')
    return handler(new Request(behind + href.slice(API.length), init))
  }
  return { fetch, requested }
}

describe.each(Object.entries(storages))('the URLs of %s', (_name, open) => {
  it.each([
    ['replaces the host', 'http://localhost:3000/api/s3', '/api/s3'],
    ['ends TLS', 'http://app.test/api/s3', '/api/s3'],
    ['removes a prefix', 'http://localhost:3000/s3', '/s3'],
  ])('are asked at the address of the API, if a proxy %s', async (_what, behind, basePath) => {
    const { fetch, requested } = serveBehindProxy(open(), behind, basePath)
    const { api } = createS3Client({ baseURL: 'https://app.test', plugins: [], fetch })
    const sizeOf = async (url: string) => (await (await fetch(url)).arrayBuffer()).byteLength
    for (const size of [5, MULTIPART_MIN_SIZE + 1]) {
      const { key } = await api.upload(new File([new Uint8Array(size)], 'zeros'))
      const { url } = await api.download({ key })
      expect(await sizeOf(url)).toBe(size)
      // Nothing in a request shows a prefix that was removed. A size changes nothing about a redirect.
      if (basePath !== '/api/s3' || size > 5) continue
      for (const slash of ['', '/']) {
        const file = api.fileURL({ key }).replace('/file', `/file${slash}`)
        const location = (await fetch(file)).headers.get('location')!
        expect(await sizeOf(new URL(location, file).href)).toBe(size)
      }
    }
    expect(requested.every((url) => url.startsWith(API))).toBe(true)
  })
})

it('asks for the URLs of the storage at the origin of the page, and links to them', async () => {
  vi.stubGlobal('location', new URL('https://app.test/files/page?x'))
  const { fetch } = serveBehindProxy(memoryStorage(), 'http://localhost:3000/api/s3')
  const { api } = createS3Client({ plugins: [], fetch })
  const { key } = await api.upload(new File(['hello'], 'hello.txt'))
  const { url } = await api.download({ key })
  expect(url.startsWith(`${API}/_storage/`)).toBe(true)
  expect(await (await fetch(url)).text()).toBe('hello')
})

it('asks at the baseURL of the storage if it has one', async () => {
  const baseURL = 'https://direct.example/api/s3/_storage'
  const { fetch, requested } = serveBehindProxy(memoryStorage({ baseURL }))
  const direct: Fetch = (input, init) =>
    fetch((input as string).replace('https://direct.example', 'https://app.test'), init)
  const given = vi.fn(direct)
  const { api } = createS3Client({ baseURL: 'https://app.test', plugins: [], fetch: given })
  const { key } = await api.upload(new File(['hello'], 'hello.txt'))
  const { url } = await api.download({ key })
  expect(url.startsWith(`${baseURL}/`)).toBe(true)
  expect(await (await direct(url)).text()).toBe('hello')
  const location = (await fetch(api.fileURL({ key }))).headers.get('location')!
  expect(location.startsWith(`${baseURL}/`)).toBe(true)
  const asked = given.mock.calls.map(([input]) => new URL(input as string).host)
  expect(asked).toEqual(['app.test', 'direct.example', 'app.test', 'app.test'])
  expect(requested).toHaveLength(6)
})

describe('a NETWORK_ERROR', () => {
  /** A request of the page that gets no response. */
  class FailingRequest {
    readonly upload = {}
    onerror: (() => void) | undefined
    open() {}
    setRequestHeader() {}
    abort() {}
    send() {
      this.onerror?.()
    }
  }

  it.each([
    [
      'fetch',
      'https://bucket.example/a/b.txt?X-Amz-Signature=secret',
      'PUT to the bucket: no response from https://bucket.example.',
    ],
    [
      'XMLHttpRequest',
      'https://bucket.example:8443/?x',
      'PUT to the bucket: no response from https://bucket.example:8443.',
    ],
    ['fetch', 'https://app.test/bucket/a?x', 'PUT to the bucket: no response.'],
    ['XMLHttpRequest', 'https://app.test/bucket/a?x', 'PUT to the bucket: no response.'],
  ])('of %s names the origin if it is not that of the API: %s', async (transport, url, message) => {
    const object = { id: '1', bucket: 'b', key: 'k', createdAt: '2026-01-01T00:00:00.000Z' }
    const upload = { method: 'PUT', url, headers: {}, expiresAt: '2026-01-01T00:15:00.000Z' }
    const fetch: Fetch = async (input) => {
      const path = (input as string).slice(API.length)
      if (path === '/upload') return Response.json({ object, upload }, { status: 201 })
      if (path === '/upload/abort') return new Response(null, { status: 204 })
      if (path === '/upload/confirm') {
        return Response.json({ code: 'OBJECT_NOT_FOUND', message: 'Nothing is there.' }, { status: 404 })
      }
      throw new TypeError('fetch failed')
    }
    if (transport === 'XMLHttpRequest') vi.stubGlobal('XMLHttpRequest', FailingRequest)
    vi.stubGlobal('fetch', fetch)
    const { api } = createS3Client({ baseURL: 'https://app.test', plugins: [] })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const rejection = rejectionOf(api.upload(new Blob(['x'])))
    await timeUntilSettled(rejection)
    expect(await rejection).toMatchObject({ code: 'NETWORK_ERROR', message, method: 'PUT', path: null })
  })
})
