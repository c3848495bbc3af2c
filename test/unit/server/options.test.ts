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
  it('has what its plugins give, each under its id, in the types too', async () => {
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
    expect(Object.keys(server)).toEqual(['handler', 'basePath', 'db', 'clock'])

    type Others = Exclude<keyof typeof server, 'db' | 'clock'>
    expectTypeOf<Others>().toEqualTypeOf<'handler' | 'basePath'>()
  })

  it.each([
    [undefined, '/api/s3'],
    [null, '/api/s3'],
    ['/files/', '/files'],
    ['/a/b//', '/a/b'],
    ['/', ''],
  ])('answers below its base path: %j', async (basePath, trimmed) => {
    const server = createS3Server({ ...good(), basePath })
    expect(server.basePath).toBe(trimmed)
    const at = (path: string) => server.handler(new Request(`https://app.example${path}`))
    expect((await at(`${trimmed}/db/objects`)).status).toBe(200)
    expect((await at('/elsewhere/db/objects')).status).toBe(404)
  })

  it('has no paths for the URLs of a storage that is a server of its own', async () => {
    const remote = memoryStorage()
    delete remote.serve
    const server = createS3Server({ ...good(), storage: remote })
    expect((await errorOf(await server.handler(new Request(`${BASE}/_storage/x`)))).code).toBe('NOT_FOUND')
  })

  it('goes by the clock of the system unless it is given one', async () => {
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
    ['a storage that can not remove', { storage: { ...memoryStorage(), remove: undefined } }, /storage/],
    ['no bucket', { bucket: undefined }, /bucket/],
    ['an empty bucket', { bucket: '' }, /bucket/],
    ['a bucket that is too long', { bucket: 'x'.repeat(256) }, /bucket/],
    ['a base path without a slash', { basePath: 'api' }, /basePath/],
    ['a base path with a query', { basePath: '/api?x' }, /basePath/],
    ['a base path with blanks', { basePath: '/a b' }, /basePath/],
    ['a base path that is no string', { basePath: 7 }, /basePath/],
    ['no plugins', { plugins: undefined }, /plugins/],
    ['plugins that are none', { plugins: [null] }, /plugins/],
    ['a plugin without a name', { plugins: [{ ...records(), id: '' }] }, /plugins/],
    ['nobody who keeps records', { plugins: [clockPlugin] }, /keeps records: add db\(\)/],
    [
      'two who keep records',
      { plugins: [records(), { ...records(), id: 'db2' }] },
      /only one that keeps records/,
    ],
    ['two plugins of one name', { plugins: [records(), records()] }, /"db" is taken/],
    [
      'a plugin that is called handler',
      { plugins: [records(), { ...clockPlugin, id: 'handler' }] },
      /"handler" is taken/,
    ],
    ['routes that are no object', { routes: 'avatars' }, /routes/],
    ['no route at all', { routes: {} }, /at least one route/],
    ['a route that is no object', { routes: { a: true } }, /routes\["a"\]/],
    ['a route without a name', { routes: { '': {} } }, /route/],
    ['a route of a name that is too long', { routes: { ['x'.repeat(256)]: {} } }, /route/],
    ['a bad size', { routes: { a: { maxFileSize: -1 } } }, /routes\["a"\]\.maxFileSize/],
    ['a size of half a byte', { routes: { a: { maxFileSize: 0.5 } } }, /maxFileSize/],
    ['types that are no array', { routes: { a: { contentTypes: 'image/png' } } }, /contentTypes/],
    ['no type at all', { routes: { a: { contentTypes: [] } } }, /contentTypes/],
    ['a bad type', { routes: { a: { contentTypes: ['png'] } } }, /contentTypes/],
    ['a key that is no function', { routes: { a: { key: 'x' } } }, /key must be a function/],
    ['a bad bucket of a route', { routes: { a: { bucket: '' } } }, /routes\["a"\]\.bucket/],
    ['overwrite that is no boolean', { routes: { a: { overwrite: 'yes' } } }, /overwrite/],
    ['a guard that is no function', { routes: { a: { guard: {} } } }, /guard must be a function/],
    ['upload options that are none', { upload: 'on' }, /upload/],
    ['an upload guard that is no function', { upload: { guard: 1 } }, /upload\.guard/],
    ['a download guard that is no function', { download: { guard: 1 } }, /download\.guard/],
    ['a delete guard that is no function', { delete: { guard: 1 } }, /delete\.guard/],
    ['a life of 0 seconds', { upload: { expiresIn: 0 } }, /upload\.expiresIn/],
    ['a life of half a second', { upload: { expiresIn: 0.5 } }, /upload\.expiresIn/],
    ['a life of more than 7 days', { download: { expiresIn: 604801 } }, /download\.expiresIn/],
    ['a life as text', { download: { expiresIn: '900' } }, /download\.expiresIn/],
    ['a listener that is no function', { onError: console }, /onError/],
    ['a clock that is no function', { now: new Date() }, /now/],
  ]
  it.each(wrong)('is a TypeError with %s', (_, options, message) => {
    const create = () => createS3Server({ ...good(), ...options })
    expect(create).toThrow(TypeError)
    expect(create).toThrow(message)
    expect(create).toThrow(/^createS3Server: /)
  })

  it('is a TypeError without options', () => {
    const none: unknown = undefined
    expect(() => createS3Server(none as S3ServerOptions)).toThrow(/createS3Server: The options/)
  })

  it('takes null for every option that may be left out', async () => {
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

  it('takes every life of a URL from a second to a week', () => {
    const expiring = (upload: number, download: number) =>
      createS3Server({ ...good(), upload: { expiresIn: upload }, download: { expiresIn: download } })
    expect(() => expiring(1, 604800)).not.toThrow()
    expect(() => expiring(604800, 1)).not.toThrow()
  })
})

describe('an operation that is off', () => {
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

  it.each(verbs)('is an unknown path: %s %s', async (method, path, option) => {
    const on = startService().as('user:1')
    const off = startService({ [option]: false }).as('user:1')
    expect(await errorOf(await off.send(method, path))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect((await errorOf(await on.send(method, path))).code).not.toBe('NOT_FOUND')
  })

  it('leaves the others on', async () => {
    const caller = startService({ upload: false, multipart: false, delete: false }).as('user:1')
    expect((await errorOf(await caller.download('a'))).code).toBe('OBJECT_NOT_FOUND')
    expect((await caller.send('GET', '/db/objects')).status).toBe(200)
  })

  it('knows no other methods', async () => {
    const caller = startService().as('user:1')
    const response = await caller.send('GET', '/upload')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await caller.send('OPTIONS', '/download')).headers.get('allow')).toBe('GET, HEAD')
  })
})
