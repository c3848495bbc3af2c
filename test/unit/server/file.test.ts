import { StorageError, type SignDownloadInput } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../conformance/clock.js'
import {
  BUCKET,
  bytesOfSize,
  errorOf,
  follow,
  startService,
  type Caller,
  type ServiceOptions,
} from './service.js'

const THIRD = 300 * SECOND

/** Requests a file and returns the address that the response redirects to. */
async function locationOf(caller: Caller, parameters: Record<string, string>): Promise<string> {
  const response = await caller.file(parameters)
  expect([response.status, response.headers.get('cache-control')]).toEqual([302, 'private, no-store'])
  return response.headers.get('location') ?? ''
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

describe('GET /file', () => {
  it('redirects to the bytes, by key or by id', async () => {
    const caller = startService().as('user:1')
    const { key, id } = await caller.upload({ filename: 'Ferien.txt' })
    for (const named of [{ key }, { id }, { key, bucket: BUCKET }]) {
      const response = await caller.file(named)
      expect(response.status).toBe(302)
      expect(await response.text()).toBe('')
      const bytes = await follow(caller, response.headers.get('location')!)
      expect(new Uint8Array(await bytes.arrayBuffer())).toEqual(bytesOfSize(3))
      expect(bytes.headers.get('content-disposition')).toContain('attachment; filename="Ferien.txt"')
    }
  })

  it('responds to HEAD without a body', async () => {
    const caller = startService().as('user:1')
    const { key } = await caller.upload()
    const response = await caller.send('HEAD', `/file?key=${encodeURIComponent(key)}`)
    expect([response.status, await response.text()]).toEqual([302, ''])
    expect(response.headers.get('location')).toBe(await locationOf(caller, { key }))
  })

  it('is limited to active objects', async () => {
    const { as } = startService()
    const { object } = await as('user:1').begun()
    for (const named of [{ key: object.key }, { id: object.id }]) {
      expect(await errorOf(await as('user:1').file(named))).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    }
  })

  it('is off with downloads', async () => {
    const caller = startService({ download: false }).as('user:1')
    for (const path of ['/file?key=a', '/download?key=a']) {
      expect(await errorOf(await caller.send('GET', path))).toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  it.each([
    ['neither key nor id', '', 'key'],
    ['both', 'key=a&id=019b7d00-0000-7000-8000-000000000000', 'key'],
    ['a bucket with an id', 'id=019b7d00-0000-7000-8000-000000000000&bucket=files', 'bucket'],
    ['an id that is no id', 'id=1', 'id'],
    ['an empty key', 'key=', 'key'],
    ['an empty bucket', 'key=a&bucket=', 'bucket'],
    ['two keys', 'key=a&key=b', 'key'],
    ['an unknown disposition', 'key=a&disposition=Inline', 'disposition'],
    ['an empty disposition', 'key=a&disposition=', 'disposition'],
    ['two dispositions', 'key=a&disposition=inline&disposition=inline', 'disposition'],
  ])('refuses %s', async (_, query, field) => {
    for (const [scope, mayRead] of [
      ['user:1', null],
      ['user:1', () => true],
      [null, () => true],
    ] as const) {
      const caller = startService({ mayRead }).as(scope)
      expect(await errorOf(await caller.send('GET', `/file?${query}`))).toMatchObject({
        code: 'VALIDATION_ERROR',
        params: { field },
      })
    }
  })

  it('ignores parameters that could extend the lifetime', async () => {
    const { as, signed, clock } = signingService()
    const { key } = await as('user:1').upload()
    await locationOf(as('user:1'), { key, expiresIn: '999999', signedAt: '0' })
    expect(signed).toMatchObject([{ expiresAt: clock.in(900 * SECOND) }])
  })

  it('runs the guard of downloads, with the object that an id names', async () => {
    const seen: unknown[] = []
    const { as, objects } = startService({
      download: {
        guard: ({ request, ...context }) => {
          seen.push([new URL(request.url).pathname, context])
          throw new StorageError('FORBIDDEN', { message: 'Not on Sundays.' })
        },
      },
    })
    const { key, id, bucket } = await as('user:1').upload()
    expect(await errorOf(await as('user:1').file({ id }))).toMatchObject({ message: 'Not on Sundays.' })
    const object = await objects.findActive({ bucket, key })
    expect(seen).toEqual([
      ['/api/s3/file', { bucket, key, scope: 'user:1', object, route: 'default', size: 3 }],
    ])
  })

  it('responds with STORAGE_UNAVAILABLE if the URL cannot be signed', async () => {
    const { as } = startService({
      storage: (memory) => ({ ...memory, signDownload: () => Promise.reject(new Error('down')) }),
    })
    const { key } = await as('user:1').upload()
    expect(await errorOf(await as('user:1').file({ key }))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  it('encodes a URL that a header cannot contain, and refuses what is no URL', async () => {
    let url = 'https://b\u{fc}cket.example/\u{1f600}?a=\n1'
    const { as } = startService({
      storage: (memory) => ({
        ...memory,
        signDownload: async (input) => ({ ...(await memory.signDownload(input)), url }),
      }),
    })
    const { key } = await as('user:1').upload()
    expect(await locationOf(as('user:1'), { key })).toBe('https://xn--bcket-kva.example/%F0%9F%98%80?a=1')
    url = 'b\u{fc}cket'
    expect(await errorOf(await as('user:1').file({ key }))).toMatchObject({ code: 'INTERNAL_ERROR' })
  })
})

describe('the URL that GET /file redirects to', () => {
  it('is the same within a third of its lifetime, and valid for the other two', async () => {
    const { as, clock } = startService()
    const caller = as('user:1')
    const { key, id } = await caller.upload()
    const first = await locationOf(caller, { key })
    clock.advance(THIRD - 1)
    expect(await locationOf(caller, { id })).toBe(first)
    clock.advance(1)
    const second = await locationOf(caller, { key })
    expect(second).not.toBe(first)
    clock.advance(2 * THIRD - 1)
    expect((await follow(caller, first)).status).toBe(200)
    clock.advance(1)
    expect((await follow(caller, first)).status).toBe(403)
    expect((await follow(caller, second)).status).toBe(200)
  })

  it.each([1, 2, 10, 100, 604_800])('is the same within a third of %i seconds', async (expiresIn) => {
    const { as, clock } = startService({ download: { expiresIn } })
    const caller = as('user:1')
    const { key } = await caller.upload()
    const third = (expiresIn * SECOND) / 3
    for (let index = 1; index <= 4; index++) {
      clock.moveTo(new Date(Math.ceil((Math.floor(clock.time / third) + 1) * third) + 1))
      const first = await locationOf(caller, { key })
      clock.advance(Math.floor(third) - 3)
      expect(await locationOf(caller, { key })).toBe(first)
      clock.advance(Math.floor(2 * third) - 2)
      expect((await follow(caller, first)).status).toBe(200)
    }
  })

  it('differs for other bytes and for another disposition', async () => {
    const routes = { pictures: { key: () => 'one', overwrite: true } }
    const caller = startService({ routes }).as('user:1')
    await caller.upload({ contentType: 'image/png' })
    const urls = [
      await locationOf(caller, { key: 'one' }),
      await locationOf(caller, { key: 'one', disposition: 'inline' }),
    ]
    await caller.upload({ contentType: 'image/png' }, 8)
    urls.push(await locationOf(caller, { key: 'one' }))
    expect(new Set(urls).size).toBe(3)
    const replaced = await follow(caller, urls[2]!)
    expect(new Uint8Array(await replaced.arrayBuffer())).toEqual(bytesOfSize(3, 8))
  })

  it('lets browsers keep the bytes for its lifetime', async () => {
    const caller = startService({ download: { expiresIn: 60 } }).as('user:1')
    const { key } = await caller.upload()
    const { headers } = await follow(caller, await locationOf(caller, { key }))
    expect(headers.get('cache-control')).toBe('private, immutable, max-age=60')
  })

  it('does not let browsers keep bytes that the application may change', async () => {
    const row = { scope: 'user:1', bucket: BUCKET, key: 'own', size: 3, contentType: 'image/png' }
    const { as, signed } = signingService({ objects: memoryAdapter({ objects: [row] }) })
    await locationOf(as('user:1'), { key: 'own' })
    expect(signed).toMatchObject([{ key: 'own', cacheControl: null }])
  })

  it('works with a storage that ignores when it was signed and how it is cached', async () => {
    const { as } = startService({
      storage: (memory) => ({
        ...memory,
        signDownload: ({ signedAt: _, cacheControl: __, disposition: ___, ...input }) =>
          memory.signDownload({ ...input, expiresAt: new Date(input.expiresAt.getTime() + 1) }),
      }),
    })
    const { key } = await as('user:1').upload()
    const { status, headers } = await follow(as('user:1'), await locationOf(as('user:1'), { key }))
    expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-store'])
  })
})

describe('the disposition of GET /file', () => {
  const dispositionOf = async (contentType: string, disposition: string) => {
    const row = { scope: 'user:1', bucket: BUCKET, key: 'own', size: 3, contentType }
    const { as, signed } = signingService({ objects: memoryAdapter({ objects: [row] }) })
    await locationOf(as('user:1'), { key: 'own', disposition })
    return signed[0]?.disposition
  }

  it.each([
    ...[
      'image/png',
      'IMAGE/PNG',
      'image/jpeg; q=1',
      'image/x-anything',
      'audio/mpeg',
      'video/mp4; codecs="x"',
    ],
    ...['application/pdf', 'Application/PDF', 'text/plain', 'text/plain; charset=utf-8', 'text/plain ;a=b'],
  ])('can be inline for %s', async (type) => {
    expect(await dispositionOf(type, 'inline')).toBe('inline')
    expect(await dispositionOf(type, 'attachment')).toBe('attachment')
  })

  it.each([
    ...['image/svg+xml', 'IMAGE/SVG+XML', 'image/svg+xml; charset=utf-8', 'video/x+xml', 'audio/x+XML ; a=b'],
    ...[
      'text/html',
      'text/css',
      'text/plainer',
      'application/pdfx',
      'application/octet-stream',
      'imagex/png',
    ],
    ...[
      'application/xhtml+xml',
      'text/xml',
      'application/json',
      'model/gltf',
      'image/',
      'image',
      '/image/png',
    ],
    ...['image/png, text/html', 'text/plain;, text/html', 'image/png; a=",", text/html', ' image/png'],
  ])('is attachment for %j', async (type) => {
    expect(await dispositionOf(type, 'inline')).toBe('attachment')
  })

  it('is attachment for an unknown type, and by default', async () => {
    const { as, signed } = signingService({
      objects: memoryAdapter({ objects: [{ scope: 'user:1', bucket: BUCKET, key: 'own', size: 3 }] }),
    })
    await locationOf(as('user:1'), { key: 'own', disposition: 'inline' })
    await locationOf(as('user:1'), { key: 'own' })
    expect(signed.map(({ disposition }) => disposition)).toEqual(['attachment', 'attachment'])
  })

  it('reaches the response', async () => {
    const caller = startService().as('user:1')
    const { key } = await caller.upload({ contentType: 'image/png', filename: 'a.png' })
    const { headers } = await follow(caller, await locationOf(caller, { key, disposition: 'inline' }))
    expect(headers.get('content-disposition')).toBe(`inline; filename="a.png"; filename*=UTF-8''a.png`)
    expect(headers.get('content-type')).toBe('image/png')
  })
})
