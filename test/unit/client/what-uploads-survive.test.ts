import { createS3Client, dbClient, type S3Api } from '@svc/db/client'
import { describe, expect, it, vi } from 'vitest'
import {
  type Fault,
  MIB,
  clientWith,
  first,
  large,
  lost,
  page,
  refusal,
  silent,
  small,
  start,
  timed,
} from './faulty-server.js'
import { stubLocalStorage } from './local-storage.js'
import { stubPageEvents } from './page-events.js'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED, type Fetch } from './server.js'
import { useFakePauses } from './upload-in-parts/fake-pauses.js'
import { DEFAULT_PART_SIZE } from '../../../src/server/attempts/sizes.js'

useFakePauses()

describe('an upload in one PUT', () => {
  it.each<[string, Record<string, Fault>, Record<string, number>]>([
    ['a PUT that is lost five times', { PUT: first(5, lost) }, { PUT: 6, 'POST /upload': 1 }],
    ['a PUT that a busy bucket refuses', { PUT: first(2, () => page(503)) }, { PUT: 3 }],
    ['a PUT that takes a server too long', { PUT: first(2, () => page(408)) }, { PUT: 3 }],
    ['a PUT that conflicts with another one', { PUT: first(2, () => page(409)) }, { PUT: 3 }],
    ['a PUT without a response', { PUT: first(1, silent) }, { PUT: 2 }],
    [
      'a PUT whose response is lost, and a repetition that finds the bytes',
      { PUT: (serve, call) => (call === 1 ? serve().then(lost) : page(412)) },
      { PUT: 2, 'POST /upload/confirm': 1 },
    ],
    [
      'the loss of all responses of the bucket',
      { PUT: (serve, call) => (call === 1 ? serve().then(lost) : lost()) },
      { PUT: 2, 'POST /upload/confirm': 1 },
    ],
    [
      'a URL that has expired',
      { PUT: first(1, () => page(403)) },
      { PUT: 2, 'POST /upload': 2, 'POST /upload/abort': 1 },
    ],
    [
      'a 403 for bytes that are there',
      { PUT: (serve) => serve().then(() => page(403)) },
      { PUT: 1, 'POST /upload': 1, 'POST /upload/abort': 0 },
    ],
    [
      'a refusal that the browser hides',
      { PUT: first(6, lost) },
      { PUT: 7, 'POST /upload': 2, 'POST /upload/abort': 1 },
    ],
    [
      'a bucket that shows new bytes after two seconds',
      { 'POST /upload/confirm': first(4, () => refusal(409, 'UPLOAD_MISMATCH')) },
      { 'POST /upload/confirm': 5, 'POST /upload/abort': 0 },
    ],
    ['a deployment at its begin', { 'POST /upload': first(5, () => page(503)) }, { 'POST /upload': 6 }],
    ['a begin that is lost twice', { 'POST /upload': first(2, lost) }, { 'POST /upload': 3 }],
    ['a begin that a gateway loses', { 'POST /upload': first(2, () => page(504)) }, { 'POST /upload': 3 }],
    ['a begin without a response', { 'POST /upload': first(1, silent) }, { 'POST /upload': 2 }],
  ])('survives %s', async (_what, faults, counts) => {
    const client = start(faults)
    expect((await timed(client.api.upload(small()))).result).toMatchObject({ status: 'active', size: 1000 })
    expect(Object.fromEntries(Object.keys(counts).map((line) => [line, client.count(line)]))).toEqual(counts)
  })

  it.each<[string, Record<string, Fault>, object, Record<string, number>]>([
    [
      'a begin that is lost three times',
      { 'POST /upload': () => lost() },
      { code: 'NETWORK_ERROR', message: 'POST /upload: no response.', method: 'POST', path: '/upload' },
      { 'POST /upload': 3 },
    ],
    [
      'a repeated begin without room, with the first error',
      { 'POST /upload': (_, call) => (call === 1 ? lost() : refusal(413, 'QUOTA_EXCEEDED')) },
      { code: 'NETWORK_ERROR' },
      { 'POST /upload': 2 },
    ],
    [
      'a bucket that refuses every URL, twice',
      { PUT: () => page(403) },
      { status: 403, message: 'PUT to the bucket: unexpected response (403).', method: 'PUT', path: null },
      { PUT: 2, 'POST /upload': 2, 'POST /upload/abort': 2 },
    ],
    [
      'a storage that is down, and asks three times whether it has the bytes',
      { PUT: () => lost(), 'POST /upload/confirm': () => refusal(502, 'STORAGE_UNAVAILABLE') },
      { code: 'NETWORK_ERROR', path: null },
      { PUT: 6, 'POST /upload/confirm': 3, 'POST /upload/abort': 1, 'POST /upload': 1 },
    ],
    [
      'a bucket that lacks conditional writes, at once',
      { PUT: () => page(501) },
      { status: 501, path: null, message: expect.stringContaining('createOnly') as string },
      { PUT: 1, 'POST /upload': 1, 'POST /upload/abort': 1 },
    ],
    [
      'a bucket that stays silent, without another attempt',
      { PUT: silent },
      { code: 'NETWORK_ERROR', path: null },
      { PUT: 6, 'POST /upload': 1 },
    ],
    [
      'a Retry-After above a minute, at once',
      { 'POST /upload': () => page(503, { 'retry-after': '120' }) },
      { status: 503, params: { retryAfter: 120 } },
      { 'POST /upload': 1 },
    ],
  ])('rejects after %s', async (_what, faults, error, counts) => {
    const client = start(faults)
    expect((await timed(rejectionOf(client.api.upload(small())))).result).toMatchObject(error)
    expect(Object.fromEntries(Object.keys(counts).map((line) => [line, client.count(line)]))).toEqual(counts)
    expect(await client.usage()).toEqual(NOTHING_USED)
  })

  it.each([
    ['1', 1, 2],
    ['60', 60, 62],
  ])('waits for a Retry-After of %s', async (value, least, most) => {
    const client = start({ 'POST /upload/confirm': first(1, () => page(429, { 'retry-after': value })) })
    const { seconds } = await timed(client.api.upload(small()))
    expect(seconds).toBeGreaterThanOrEqual(least)
    expect(seconds).toBeLessThan(most)
  })

  it('reports to the server why the bucket has refused the bytes', async () => {
    const client = start({ PUT: () => page(403) })
    await timed(rejectionOf(client.api.upload(small())))
    expect(client.bodies.filter(({ line }) => line === 'POST /upload/abort')).toMatchObject([
      { failure: { status: 403, message: '<h1>No</h1>' } },
      { failure: { status: 403, message: '<h1>No</h1>' } },
    ])
  })
})

describe('an upload in parts', () => {
  it('stays reserved if the bucket refuses a part, and reports why', async () => {
    let isBroken = true
    const client = start({ PUT: () => (isBroken ? page(403) : undefined) })
    const file = large()
    expect((await timed(rejectionOf(client.api.upload(file)))).result).toMatchObject({ status: 403 })
    const reports = () => client.bodies.filter(({ line }) => line === 'POST /multipart/list')
    await expect.poll(reports).toMatchObject([{ failure: { status: 403, message: '<h1>No</h1>' } }])
    isBroken = false
    expect((await timed(client.api.upload(file))).result).toMatchObject({ status: 'active' })
    expect([client.count('POST /multipart/abort'), client.count('POST /multipart')]).toEqual([0, 1])
  })

  it.each([413, 501, 505])('ends at the first %i, which another try would get again', async (status) => {
    const client = start({ PUT: () => page(status) })
    expect((await timed(rejectionOf(client.api.upload(large())))).result).toMatchObject({ status })
    // Three parts, at once.
    expect(client.count('PUT')).toBeLessThanOrEqual(3)
  })

  it('stays reserved if a page comes in place of a response, whatever its status', async () => {
    let status: number | null = null
    const client = start({ 'POST /multipart/complete': () => (status ? page(status) : undefined) })
    const file = large()
    for (status of [200, 302, 401, 403, 404, 418]) {
      const { result } = await timed(rejectionOf(client.api.upload(file)))
      expect(result).toMatchObject({ code: 'UNEXPECTED_RESPONSE', status, path: '/multipart/complete' })
    }
    status = null
    expect((await timed(client.api.upload(file))).result).toMatchObject({ status: 'active' })
    expect([client.count('POST /multipart'), client.count('PUT')]).toEqual([1, 3])
  })

  it('is kept if the server doesn’t know it while its URLs are valid', async () => {
    let isOther = false
    const client = start({
      'POST /multipart/parts': () => (isOther ? refusal(404, 'OBJECT_NOT_FOUND') : undefined),
      'POST /multipart/complete': () => (isOther ? refusal(404, 'OBJECT_NOT_FOUND') : undefined),
      // The bytes don't matter here, and are many.
      PUT: async () => {
        isOther = true
        return new Response()
      },
    })
    const file = new File([new Uint8Array(9 * DEFAULT_PART_SIZE)], 'a', { lastModified: 1 })
    expect((await timed(rejectionOf(client.api.upload(file)))).result).toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
    expect(client.count('POST /multipart/abort')).toBe(0)
    isOther = false
    expect(await client.api.unfinishedUploads()).toMatchObject([{ filename: 'a', size: file.size }])
  })

  it('asks for its parts instead of a confirm that would be refused', async () => {
    const client = start({ PUT: (serve, call) => (call === 1 ? serve() : lost()) })
    await timed(rejectionOf(client.api.upload(large())))
    client.log.length = 0
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 1 })
    expect(client.log).toEqual(['POST /multipart/list'])
  })
})

describe('a request without progress', () => {
  const clientWith = (stallSeconds: number, fetch: Fetch) =>
    createS3Client({ baseURL: 'http://files.test', plugins: [dbClient()], stallSeconds, fetch }).api

  it.each<
    [string, (api: S3Api & { db: { listObjects: () => Promise<unknown> } }) => Promise<unknown>, string]
  >([
    ['download', (api) => api.download({ key: 'a' }), 'GET /download: no response.'],
    ['delete', (api) => api.delete({ key: 'a' }), 'DELETE /object: no response.'],
    ['db.listObjects', (api) => api.db.listObjects(), 'GET /db/objects: no response.'],
  ])('is ended after stallSeconds: %s', async (_name, call, message) => {
    const { result, seconds } = await timed(rejectionOf(call(clientWith(5, silent))))
    expect(result).toMatchObject({ code: 'NETWORK_ERROR', message })
    expect(seconds).toBeCloseTo(5, 0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('has time for its body where nothing tells how much was sent', async () => {
    const { fetch, usage } = start({ PUT: silent })
    const api = createS3Client({
      baseURL: 'http://files.test',
      plugins: [],
      fetch,
      headers: { 'x-user': 'ada' },
    }).api
    const upload = rejectionOf(api.upload(new Blob([new Uint8Array(4 * MIB)]), { timeoutSeconds: 93 }))
    // 30 seconds, and one for each 64 KiB.
    expect((await timed(upload)).result).toMatchObject({ code: 'TIMEOUT' })
    // It ends after the call, in the storage that the next test may have put in place.
    await expect.poll(usage).toMatchObject({ reservedFiles: 0 })
  })
})

describe('while the browser says that it is offline', () => {
  it('tries again every 15 seconds', async () => {
    vi.stubGlobal('navigator', { onLine: false })
    stubPageEvents(new EventTarget())
    const client = start({ 'POST /upload': first(3, lost) })
    const { result, seconds } = await timed(client.api.upload(small()))
    expect(result).toMatchObject({ status: 'active' })
    expect(seconds).toBeCloseTo(45, 0)
  })
})

it('settles four uploads at once', async () => {
  const entries = stubLocalStorage()
  let [atOnce, most] = [0, 0]
  const client = start({
    'POST /upload/abort': async (serve) => {
      most = Math.max(most, ++atOnce)
      const response = await serve()
      atOnce -= 1
      return response
    },
  })
  const object = { id: '01a21cdf-e25e-7143-8cce-e65817ec9cde', bucket: 'files', key: 'a' }
  for (let index = 0; index < 50; index++) {
    entries.set(
      `@svc/db attempt ["http://files.test/api/s3",null] ${index}`,
      JSON.stringify({ object, until: 0 }),
    )
  }
  expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 50, kept: 0 })
  expect(most).toBe(4)
})

it('gives an own fetch a File, because native web views lose a Blob', async () => {
  const bodies: unknown[] = []
  const { fetch } = start()
  const own: Fetch = (input, init) => {
    if (init?.method === 'PUT') bodies.push(init.body)
    return fetch(input, init)
  }
  const { api } = clientWith(own)
  await api.upload(small())
  expect(bodies).toEqual([expect.any(File)])
  expect(bodies[0]).toMatchObject({ name: 'a.txt', type: 'text/plain' })
  expect(await (bodies[0] as File).text()).toBe(await small().text())
})
