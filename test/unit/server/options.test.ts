import {
  createS3Server,
  db,
  memoryStorage,
  type DbContext,
  type S3ServerOptions,
  type ServerPlugin,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { BASE, BUCKET, errorOf, startService, type Begun } from './service.js'

const records = () => db({ client: memoryAdapter(), resolveScope: () => 'user:1' })

const clockPlugin: ServerPlugin<'clock', { readonly time: () => number }> = {
  id: 'clock',
  install: ({ now }) => ({
    context: { time: () => now().getTime() },
    endpoints: [
      {
        method: 'GET',
        path: '/time',
        operation: 'time',
        describe: () => ({ summary: 'The time.', answer: { status: 204, description: 'None.' }, errors: [] }),
        run: async () => ({ status: 200, body: { basePath: '' } }),
      },
    ],
  }),
}

const good = () => ({ storage: memoryStorage(), bucket: BUCKET, plugins: [records()] })

describe('createS3Server', () => {
  it('exposes the context of each plugin under its id, with its type', async () => {
    const server = createS3Server({
      storage: memoryStorage(),
      bucket: BUCKET,
      plugins: [records(), clockPlugin],
      now: () => new Date(7),
    })
    expectTypeOf(server.db).toEqualTypeOf<DbContext>()
    expectTypeOf(server.clock.time()).toEqualTypeOf<number>()
    expect(server.clock.time()).toBe(7)
    expect(await server.db.objects.countByScope('user:1')).toBe(0)
    expect((await server.handler(new Request(`${BASE}/time`))).status).toBe(200)
    expect(Object.keys(server)).toEqual(['handler', 'basePath', 'files', 'db', 'clock'])

    type Others = Exclude<keyof typeof server, 'db' | 'clock'>
    expectTypeOf<Others>().toEqualTypeOf<'handler' | 'basePath' | 'files'>()
  })

  it.each([
    [undefined, '/api/s3'],
    [null, '/api/s3'],
    ['/files/', '/files'],
    ['/a/b//', '/a/b'],
    ['/', ''],
  ])('serves the paths below its base path: %j', async (basePath, trimmed) => {
    const server = createS3Server({ ...good(), basePath })
    expect(server.basePath).toBe(trimmed)
    const at = (path: string) => server.handler(new Request(`https://app.example${path}`))
    expect((await at(`${trimmed}/db/objects`)).status).toBe(200)
    expect((await at('/elsewhere/db/objects')).status).toBe(404)
  })

  it('has no storage paths for a storage that does not serve its own URLs', async () => {
    const remote = memoryStorage()
    delete remote.serve
    const server = createS3Server({ ...good(), storage: remote })
    expect((await errorOf(await server.handler(new Request(`${BASE}/_storage/x`)))).code).toBe('NOT_FOUND')
  })

  it('uses the system clock by default', async () => {
    const server = createS3Server({ ...good(), download: { expiresIn: 1 } })
    const before = Date.now()
    const body = JSON.stringify({ filename: 'a', contentType: 'text/plain', size: 0 })
    const headers = { 'content-type': 'application/json' }
    const response = await server.handler(new Request(`${BASE}/upload`, { method: 'POST', headers, body }))
    const { upload } = (await response.json()) as Begun
    expect(Date.parse(upload.expiresAt)).toBeGreaterThanOrEqual(before + 900_000)
    expect(Date.parse(upload.expiresAt)).toBeLessThanOrEqual(Date.now() + 900_000)
  })

  const wrong: [string, Record<string, unknown>, RegExp][] = [
    ['no storage', { storage: undefined }, /storage/],
    ['a storage without remove', { storage: { ...memoryStorage(), remove: undefined } }, /storage/],
    ['no bucket', { bucket: undefined }, /bucket/],
    ['an empty bucket', { bucket: '' }, /bucket/],
    ['a bucket that is too long', { bucket: 'x'.repeat(256) }, /bucket/],
    ['a base path without a slash', { basePath: 'api' }, /basePath/],
    ['a base path with a query', { basePath: '/api?x' }, /basePath/],
    ['a base path with blanks', { basePath: '/a b' }, /basePath/],
    ['a base path that is not a string', { basePath: 7 }, /basePath/],
    ['no plugins', { plugins: undefined }, /plugins/],
    ['a plugin that is null', { plugins: [null] }, /plugins/],
    ['a plugin without an id', { plugins: [{ ...records(), id: '' }] }, /plugins/],
    [
      'no plugin that keeps records',
      { plugins: [clockPlugin] },
      /must include one plugin that keeps records: add db\(\)\.$/,
    ],
    [
      'two plugins that keep records',
      { plugins: [records(), { ...records(), id: 'db2' }] },
      /must include only one plugin that keeps records \(got 2\)\.$/,
    ],
    ['two plugins with the same id', { plugins: [records(), records()] }, /"db" is already in use/],
    [
      'a plugin with the id handler',
      { plugins: [records(), { ...clockPlugin, id: 'handler' }] },
      /"handler" is already in use/,
    ],
    ['routes that are not an object', { routes: 'avatars' }, /routes/],
    ['no routes', { routes: {} }, /at least one route/],
    [
      'a route that is not an object',
      { routes: { a: true } },
      /: routes\.a must be an object \(got true\)\.$/,
    ],
    ['a route with a special name', { routes: { 'a b': true } }, /: routes\["a b"\] must be an object/],
    ['a route without a name', { routes: { '': {} } }, /route/],
    ['a route name that is too long', { routes: { ['x'.repeat(256)]: {} } }, /route/],
    [
      'a negative size',
      { routes: { a: { maxFileSize: -1 } } },
      /: routes\.a\.maxFileSize must be an integer from 0 to 9007199254740991\b/,
    ],
    ['a fractional size', { routes: { a: { maxFileSize: 0.5 } } }, /maxFileSize/],
    ['types that are not an array', { routes: { a: { contentTypes: 'image/png' } } }, /contentTypes/],
    ['an empty array of types', { routes: { a: { contentTypes: [] } } }, /contentTypes/],
    [
      'an invalid type',
      { routes: { a: { contentTypes: ['image/*', 'png'] } } },
      /: routes\.a\.contentTypes\[1\] must be a media type such as .* \(got "png"\)\.$/,
    ],
    ['a key that is not a function', { routes: { a: { key: 'x' } } }, /key must be a function/],
    [
      'an invalid bucket of a route',
      { routes: { a: { bucket: '' } } },
      /: routes\.a\.bucket must be a string of 1 to 255 characters/,
    ],
    [
      'metadata that is true',
      { routes: { a: { metadata: true } } },
      /: routes\.a\.metadata must be false or a function \(got true\)\.$/,
    ],
    [
      'metadata that is a record',
      { routes: { a: { metadata: {} } } },
      /metadata must be false or a function/,
    ],
    ['overwrite that is not a boolean', { routes: { a: { overwrite: 'yes' } } }, /overwrite/],
    ['a guard that is not a function', { routes: { a: { guard: {} } } }, /guard must be a function/],
    ['upload options that are not an object', { upload: 'on' }, /upload/],
    ['an upload guard that is not a function', { upload: { guard: 1 } }, /upload\.guard/],
    ['a download guard that is not a function', { download: { guard: 1 } }, /download\.guard/],
    ['a delete guard that is not a function', { delete: { guard: 1 } }, /delete\.guard/],
    ['a lifetime of 0 seconds', { upload: { expiresIn: 0 } }, /upload\.expiresIn/],
    ['a fractional lifetime', { upload: { expiresIn: 0.5 } }, /upload\.expiresIn/],
    ['a lifetime of more than 7 days', { download: { expiresIn: 604801 } }, /download\.expiresIn/],
    ['a lifetime as a string', { download: { expiresIn: '900' } }, /download\.expiresIn/],
    ['a listener that is not a function', { onError: console }, /onError/],
    ['a clock that is not a function', { now: new Date() }, /now/],
  ]
  it.each(wrong)('throws a TypeError for %s', (_, options, message) => {
    const create = () => createS3Server({ ...good(), ...options })
    expect(create).toThrow(TypeError)
    expect(create).toThrow(message)
    expect(create).toThrow(/^createS3Server: /)
  })

  it('throws a TypeError without options', () => {
    const none: unknown = undefined
    expect(() => createS3Server(none as S3ServerOptions)).toThrow(
      /createS3Server: the options must be an object \(got undefined\)\.$/,
    )
  })

  it('accepts null for every optional option', async () => {
    const none = {
      basePath: null,
      routes: null,
      upload: null,
      download: null,
      delete: null,
      onError: null,
      now: null,
    }
    const route = {
      maxFileSize: null,
      contentTypes: null,
      key: null,
      metadata: null,
      bucket: null,
      overwrite: null,
      guard: null,
    }
    const life = { guard: null, expiresIn: null }
    expect(() => createS3Server({ ...good(), ...none })).not.toThrow()
    expect(() =>
      createS3Server({ ...good(), routes: { a: route }, upload: life, download: life }),
    ).not.toThrow()
  })

  it('accepts lifetimes from 1 second to 7 days', () => {
    const expiring = (upload: number, download: number) =>
      createS3Server({ ...good(), upload: { expiresIn: upload }, download: { expiresIn: download } })
    expect(() => expiring(1, 604800)).not.toThrow()
    expect(() => expiring(604800, 1)).not.toThrow()
  })
})

describe('a disabled operation', () => {
  const verbs = [
    ['POST', '/upload', 'upload'],
    ['POST', '/upload/confirm', 'upload'],
    ['POST', '/upload/abort', 'upload'],
    ['POST', '/multipart', 'multipart'],
    ['POST', '/multipart/parts', 'multipart'],
    ['POST', '/multipart/list', 'multipart'],
    ['POST', '/multipart/complete', 'multipart'],
    ['POST', '/multipart/abort', 'multipart'],
    ['GET', '/download?key=a', 'download'],
    ['DELETE', '/object?key=a', 'delete'],
  ] as const

  it.each(verbs)('has an unknown path: %s %s', async (method, path, option) => {
    const on = startService().as('user:1')
    const off = startService({ [option]: false }).as('user:1')
    expect(await errorOf(await off.send(method, path))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect((await errorOf(await on.send(method, path))).code).not.toBe('NOT_FOUND')
  })

  it('leaves the others enabled', async () => {
    const caller = startService({ upload: false, multipart: false, delete: false }).as('user:1')
    expect((await errorOf(await caller.download('a'))).code).toBe('OBJECT_NOT_FOUND')
    expect((await caller.send('GET', '/db/objects')).status).toBe(200)
  })

  it('returns METHOD_NOT_ALLOWED for other methods', async () => {
    const caller = startService().as('user:1')
    const response = await caller.send('GET', '/upload')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await caller.send('OPTIONS', '/download')).headers.get('allow')).toBe('GET, HEAD')
  })
})
