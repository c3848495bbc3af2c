import { createS3Server, db, memoryStorage, StorageError, type StorageObject } from '@svc/db'
import type { RecordKeeper, SignDownloadInput } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../conformance/clock.js'
import {
  BUCKET,
  bytesOfSize,
  Caller,
  errorOf,
  fetchBytes,
  follow,
  ORIGIN,
  startService,
  type ServiceOptions,
} from './service.js'

type Operation = 'download' | 'file' | 'object'
type Ask = (caller: Caller, named: { readonly key: string; readonly id: string }) => Promise<Response>

/** The requests that read an object, by the `operation` that `mayRead` knows. */
const requests: Readonly<Record<Operation, Ask>> = {
  download: (caller, { key }) => caller.download(key),
  file: (caller, { id }) => caller.file({ id }),
  object: (caller, { key }) => caller.send('GET', `/db/object?key=${encodeURIComponent(key)}`),
}
const paths = { download: '/download', file: '/file', object: '/db/object' }

/** A caller of another scope, and one that is not signed in. */
const readers = ['user:2', null]

async function urlOf(response: Response): Promise<string> {
  expect([200, 302]).toContain(response.status)
  const location = response.headers.get('location')
  return location === null
    ? ((await response.json()) as { url: string }).url
    : new URL(location, `${ORIGIN}/api/s3/file`).href
}

/** Records what the server has signed. */
function signingService(options: ServiceOptions = {}) {
  const signed: SignDownloadInput[] = []
  const service = startService({
    ...options,
    storage: (memory) => ({
      ...memory,
      signDownload: (input) => (signed.push(input), memory.signDownload(input)),
    }),
  })
  return { ...service, signed }
}

/** A service with an object whose bytes the application manages. */
const withOwnObject = (contentType?: string) =>
  signingService({
    objects: memoryAdapter({
      objects: [
        { scope: 'user:1', bucket: BUCKET, key: 'own', size: 3, ...(contentType && { contentType }) },
      ],
    }),
  })

describe.each(Object.entries(requests) as [Operation, Ask][])('mayRead and %s', (operation, ask) => {
  it('is asked about the object, by whom, and for what', async () => {
    const asked: object[] = []
    const { as, objects } = startService({
      async mayRead(object, { request, ...context }) {
        asked.push({ ...context, row: object, path: new URL(request.url).pathname })
        return Promise.resolve(true)
      },
    })
    const { key, id } = await as('user:1').upload()
    for (const reader of readers) expect((await ask(as(reader), { key, id })).status).toBeLessThan(400)
    const row = await objects.findActive({ bucket: BUCKET, key })
    const path = `/api/s3${paths[operation]}`
    const context = { operation, bucket: BUCKET, key, object: row, row, route: 'default', size: 3, path }
    expect(asked).toEqual(readers.map((scope) => ({ ...context, scope })))
  })

  it('is not asked about own, missing, pending and deleted objects, nor for invalid input', async () => {
    const { as } = startService({ mayRead: () => expect.unreachable() })
    const own = await as('user:1').upload()
    expect((await ask(as('user:1'), own)).status).toBeLessThan(400)
    const { object: pending } = await as('user:1').begun()
    const deleted = await as('user:1').upload()
    await as('user:1').delete(deleted.key)
    const missing = { key: 'missing', id: '019b7d00-0000-7000-8000-000000000000' }
    for (const named of [pending, deleted, missing]) {
      expect((await ask(as('user:2'), named)).status).toBe(404)
      expect((await ask(as(null), named)).status).toBe(401)
    }
    expect((await ask(as('user:2'), { key: '', id: '' })).status).toBe(400)
  })

  it('keeps the code of a StorageError, except for strangers, and hides any other error, which is reported', async () => {
    const failure = new Error('the sessions are at cache.internal')
    const errors = ['FORBIDDEN', 'OBJECT_NOT_FOUND', 'DATABASE_UNAVAILABLE'] as const
    for (const thrown of [failure, ...errors.map((code) => new StorageError(code))]) {
      const { as, reported } = startService({ mayRead: () => Promise.reject(thrown) })
      const object = await as('user:1').upload()
      for (const reader of readers) {
        const { code, message } = await errorOf(await ask(as(reader), object))
        if (thrown instanceof StorageError) {
          expect(code).toBe(reader === null && thrown.status < 500 ? 'UNAUTHORIZED' : thrown.code)
        } else expect({ code, message }).toEqual({ code: 'INTERNAL_ERROR', message: 'Something went wrong.' })
      }
      await Promise.resolve()
      if (thrown === failure) expect(reported.map(({ error }) => error)).toEqual([failure, failure])
    }
  })
})

describe.each(Object.entries(requests).slice(0, 2) as [Operation, Ask][])('GET /%s', (operation, ask) => {
  it('runs the guard of downloads for owners and readers, after it knows that they may read', async () => {
    const seen: unknown[] = []
    const { as, objects } = startService({
      mayRead: ({ filename }) => filename === 'shared.txt',
      download: {
        guard({ request, ...context }) {
          seen.push([new URL(request.url).pathname, context])
          if (context.scope !== null) throw new StorageError('FORBIDDEN', { message: 'Not on Sundays.' })
        },
      },
    })
    const object = await as('user:1').upload({ filename: 'shared.txt' })
    const hidden = await as('user:1').upload()
    for (const scope of ['user:1', 'user:2']) {
      const refused = await errorOf(await ask(as(scope), object))
      expect(refused).toEqual({ status: 403, code: 'FORBIDDEN', message: 'Not on Sundays.' })
    }
    expect((await ask(as(null), object)).status).toBeLessThan(400)
    expect((await ask(as('user:2'), hidden)).status).toBe(404)
    const { key, bucket } = object
    const row = await objects.findActive(object)
    const context = { bucket, key, object: row, route: 'default', size: 3 }
    expect(seen).toEqual(
      ['user:1', 'user:2', null].map((scope) => [`/api/s3/${operation}`, { ...context, scope }]),
    )
  })

  it('fails with the storage, and stops when the client disconnects', async () => {
    const disconnect = new AbortController()
    const signals: (AbortSignal | undefined)[] = []
    const { as, s3 } = startService({
      storage: (memory) => ({
        ...memory,
        signDownload(input) {
          signals.push(input.signal)
          disconnect.abort()
          return memory.signDownload(input)
        },
      }),
    })
    const { key } = await as('user:1').upload()
    const request = as('user:1').request('GET', `/${operation}?key=${encodeURIComponent(key)}`)
    const response = await s3.handler(new Request(request, { signal: disconnect.signal }))
    expect(await errorOf(response)).toMatchObject({ status: 502, code: 'STORAGE_UNAVAILABLE' })
    expect(signals.map((signal) => signal?.aborted)).toEqual([true])
  })

  it('signs a URL for expiresIn', async () => {
    const { as, signed, clock } = signingService({ download: { expiresIn: 60 } })
    clock.advance(-(clock.time % (60 * SECOND)))
    await ask(as('user:1'), await as('user:1').upload())
    expect(signed).toMatchObject([{ expiresAt: clock.in(60 * SECOND) }])
  })

  it('signs a URL for what expiresIn returns for the object, at most for maxExpiresIn', async () => {
    let seconds: unknown
    const expiresIn = (object: StorageObject) => {
      Object.assign(object, { storageKey: 'changed' })
      return (object.contentType === 'video/mp4' ? seconds : 900) as number
    }
    const { as, signed, clock } = signingService({ download: { expiresIn, maxExpiresIn: 7200 } })
    const film = await as('user:1').upload({ contentType: 'video/mp4' })
    clock.advance(-(clock.time % (7200 * SECOND)))
    for (const [returned, valid] of [
      [1, 1],
      [60.9, 60],
      [7200, 7200],
      [Infinity, 7200],
    ]) {
      seconds = returned
      await urlOf(await ask(as('user:1'), film))
      expect(signed.pop()).toMatchObject({
        expiresAt: clock.in(valid! * SECOND),
        key: expect.stringMatching(/^default/) as string,
      })
    }
    for (const invalid of [0, -1, NaN, '60', undefined, Promise.resolve(60)]) {
      seconds = invalid
      expect(await errorOf(await ask(as('user:1'), film))).toMatchObject({ code: 'INTERNAL_ERROR' })
    }
    await urlOf(await ask(as('user:1'), await as('user:1').upload({ contentType: 'image/png' })))
    expect(signed).toMatchObject([{ expiresAt: clock.in(900 * SECOND) }])
  })

  it('names an adopted object without a file name by its key', async () => {
    const { as, signed, objects } = withOwnObject()
    await ask(as('user:1'), (await objects.findActive({ bucket: BUCKET, key: 'own' }))!)
    expect(signed).toMatchObject([{ bucket: BUCKET, key: 'own', filename: 'own', contentType: null }])
  })
})

describe('the URL that GET /file redirects to', () => {
  it.each([1, 2, 10, 100, 900, 604_800])(
    'is the same within a third of %i seconds, and valid for the rest',
    async (expiresIn) => {
      const { as, clock } = startService({ download: { expiresIn } })
      const caller = as('user:1')
      const { key, id } = await caller.upload()
      const third = (expiresIn * SECOND) / 3
      for (let index = 1; index <= 4; index++) {
        clock.moveTo(new Date(Math.ceil((Math.floor(clock.time / third) + 1) * third) + 1))
        const first = await urlOf(await caller.file({ key }))
        clock.advance(Math.floor(third) - 3)
        expect(await urlOf(await caller.file({ id }))).toBe(first)
        clock.advance(4)
        expect(await urlOf(await caller.file({ key }))).not.toBe(first)
        clock.advance(Math.floor(2 * third) - 6)
        expect((await follow(caller, first)).status).toBe(200)
        clock.advance(8)
        expect((await follow(caller, first)).status).toBe(403)
      }
    },
  )

  it('differs for other bytes and for another disposition', async () => {
    const routes = { pictures: { key: () => 'one', overwrite: true } }
    const caller = startService({ routes }).as('user:1')
    await caller.upload({ contentType: 'image/png' })
    const urls = [await urlOf(await caller.file({ key: 'one' }))]
    urls.push(await urlOf(await caller.file({ key: 'one', disposition: 'inline' })))
    await caller.upload({ contentType: 'image/png' }, 8)
    urls.push(await urlOf(await caller.file({ key: 'one' })))
    expect(new Set(urls).size).toBe(3)
    expect(await fetchBytes(caller, urls[2]!)).toEqual(bytesOfSize(3, 8))
  })

  it('lets browsers keep the bytes until it expires, unless the application may change them', async () => {
    const { as: of, signed: terms, clock } = signingService({ download: { expiresIn: 60 } })
    const caller = of('user:1')
    const { key } = await caller.upload()
    clock.advance(-(clock.time % (20 * SECOND)))
    const url = await urlOf(await caller.file({ key }))
    // A bucket sends what was signed, whenever it is asked within a third.
    expect(terms).toMatchObject([{ cacheControl: 'private, immutable, max-age=40' }])
    for (const left of [60, 41, 1]) {
      clock.moveTo(new Date(terms[0]!.expiresAt.getTime() - left * SECOND - 1))
      const { headers } = await follow(caller, url)
      expect(headers.get('cache-control')).toBe(`private, immutable, max-age=${left}`)
    }
    const { as, signed } = withOwnObject('image/png')
    await as('user:1').file({ key: 'own' })
    expect(signed).toMatchObject([{ key: 'own', cacheControl: null }])
  })

  const requests = {
    scripts: [
      [{ cors: 'true' }, {}],
      [{}, { 'sec-fetch-mode': 'cors' }],
      [{}, { origin: 'https://app.example' }],
    ],
    pictures: [
      [{}, {}],
      [{ cors: 'false' }, { 'sec-fetch-mode': 'no-cors' }],
      [{}, { 'sec-fetch-mode': 'navigate' }],
    ],
  } as const
  it.each([1, 6, 900])(
    'is another one for scripts than for pictures, if valid for %i s',
    async (expiresIn) => {
      const { as, s3, clock } = startService({ download: { expiresIn } })
      const caller = as('user:1')
      const { key } = await caller.upload()
      const seen = { scripts: new Set<string>(), pictures: new Set<string>() }
      for (let sixth = 0; sixth < 12; sixth++) {
        for (const kind of ['scripts', 'pictures'] as const) {
          const urls = new Set<string>()
          for (const [parameters, headers] of requests[kind]) {
            const query = new URLSearchParams({ key, ...parameters }).toString()
            const { url } = caller.request('GET', `/file?${query}`)
            urls.add(
              await urlOf(
                await s3.handler(new Request(url, { headers: { 'x-scope': 'user:1', ...headers } })),
              ),
            )
          }
          const [url] = urls
          expect([urls.size, (await follow(caller, url!)).status]).toEqual([1, 200])
          seen[kind].add(url!)
        }
        clock.advance((expiresIn * SECOND) / 6)
      }
      // A third has two sixths.
      expect(seen.scripts.size).toBeLessThanOrEqual(7)
      expect([...seen.scripts].filter((url) => seen.pictures.has(url))).toEqual([])
    },
  )

  it.each([
    ['/v1/api/s3', ''],
    // Browsers would take such a path for a host.
    ['//elsewhere.example/api/s3', ORIGIN],
  ])('keeps the host of the request below %s', async (basePath, start) => {
    const { as, s3 } = startService()
    const { key } = await as('user:1').upload()
    const { url, headers } = as('user:1').request('GET', `/file?key=${encodeURIComponent(key)}`)
    const request = new Request(url.replace('/api/s3', basePath), { headers })
    const location = (await s3.handler(request, { basePath })).headers.get('location')!
    expect(location.startsWith(`${start}${basePath}/_storage/`)).toBe(true)
    expect(new URL(location, request.url).origin).toBe(ORIGIN)
  })

  it('is encoded if a header cannot contain it, and refused if it is no URL', async () => {
    let url = 'https://b\u{fc}cket.example/\u{1f600}?a=\n1'
    const { as } = startService({ storage: (memory) => ({ ...memory, signDownload: async () => ({ url }) }) })
    const { key } = await as('user:1').upload()
    const encoded = 'https://xn--bcket-kva.example/%F0%9F%98%80?a=1'
    expect(await urlOf(await as('user:1').file({ key }))).toBe(encoded)
    url = 'b\u{fc}cket'
    expect(await errorOf(await as('user:1').file({ key }))).toMatchObject({ code: 'INTERNAL_ERROR' })
  })

  const shown = [
    ...['image/png', 'IMAGE/PNG', 'image/jpeg; q=1', 'image/x-anything', 'audio/mpeg', 'text/plain'],
    ...['AUDIO/mpeg; codecs=x', 'video/mp4; codecs="x"', 'application/pdf', 'Application/PDF'],
    ...['video/webm;codecs="vp8,opus"', 'video/webm;codecs=vp8,opus', 'text/plain;, text/html'],
    ...['image/png; a=",", text/html', 'image/png; a="\\",text/html"', 'text/plain ;a=b'],
  ]
  const saved = [
    ...['image/svg+xml', 'IMAGE/SVG+XML', 'image/svg+xml; charset=utf-8', 'video/x+xml', 'audio/x+XML ; a=b'],
    ...['text/html', 'text/css', 'text/plainer', 'text/xml', 'application/pdfx', 'application/octet-stream'],
    ...['application/xhtml+xml', 'application/json', 'imagex/png', 'model/gltf', 'image/', 'image'],
    ...['/image/png', 'image/png, text/html', ' image/png', undefined],
  ]
  it.each([
    ['inline', shown],
    ['attachment', saved],
  ])('is %s for the types %j if that is asked for, and else attachment', async (disposition, types) => {
    for (const type of types) {
      const { as, signed } = withOwnObject(type)
      for (const asked of [{ disposition: 'inline' }, { disposition: 'attachment' }, {}]) {
        await as('user:1').file({ key: 'own', ...asked })
      }
      const dispositions = signed.map((input) => input.disposition)
      expect([type, ...dispositions]).toEqual([type, disposition, 'attachment', 'attachment'])
    }
  })
})

it('a plugin that keeps records as in 1.5 lets only owners read', async () => {
  const NEW_MEMBERS = ['readAccess', 'callerOf']
  const plugin = db({ client: memoryAdapter(), resolveScope: ({ headers }) => headers.get('x-scope') })
  const { handler } = createS3Server({
    storage: memoryStorage(),
    bucket: BUCKET,
    plugins: [
      {
        id: 'records',
        install(environment) {
          const { records, ...rest } = plugin.install(environment)
          const members = Object.entries(records!).filter(([name]) => !NEW_MEMBERS.includes(name))
          return { ...rest, records: Object.fromEntries(members) as unknown as RecordKeeper }
        },
      },
    ],
  })
  const { key } = await new Caller(handler, 'ann').upload()
  const statuses = []
  for (const scope of ['ann', 'bob', null]) {
    const caller = new Caller(handler, scope)
    statuses.push((await caller.file({ key })).status, (await caller.download(key)).status)
  }
  expect(statuses).toEqual([302, 200, 404, 404, 401, 401])
})
