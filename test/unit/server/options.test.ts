import { createS3Server, db, memoryStorage, type S3ServerOptions } from '@svc/db'
import type { DbContext, ServerPlugin } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { BASE, BUCKET, errorOf, startService, type Begun } from './service.js'

const records = () => db({ client: memoryAdapter(), resolveScope: () => 'user:1' })
const good = () => ({ storage: memoryStorage(), bucket: BUCKET, plugins: [records()] })

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
        run: async () => Promise.resolve({ status: 200, body: { basePath: '' } }),
      },
    ],
  }),
}

describe('createS3Server', () => {
  it('exposes the context of each plugin under its id, with its type', async () => {
    const server = createS3Server({ ...good(), plugins: [records(), clockPlugin], now: () => new Date(7) })
    expectTypeOf(server.db).toEqualTypeOf<DbContext>()
    expectTypeOf(server.clock.time()).toEqualTypeOf<number>()
    expect(server.clock.time()).toBe(7)
    expect(await server.db.objects.countByScope('user:1')).toBe(0)
    expect((await server.handler(new Request(`${BASE}/time`))).status).toBe(200)
    expect(Object.keys(server)).toEqual(['handler', 'basePath', 'files', 'close', 'verify', 'db', 'clock'])
    type Others = Exclude<keyof typeof server, 'db' | 'clock'>
    expectTypeOf<Others>().toEqualTypeOf<'handler' | 'basePath' | 'files' | 'close' | 'verify'>()
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

  it('uses the system clock by default', async () => {
    const before = Date.now()
    const body = JSON.stringify({ filename: 'a', contentType: 'text/plain', size: 0 })
    const headers = { 'content-type': 'application/json' }
    const request = new Request(`${BASE}/upload`, { method: 'POST', headers, body })
    const { upload } = (await (await createS3Server(good()).handler(request)).json()) as Begun
    expect(Date.parse(upload.expiresAt)).toBeGreaterThanOrEqual(before + 900_000)
    expect(Date.parse(upload.expiresAt)).toBeLessThanOrEqual(Date.now() + 900_000)
  })

  const route = (a: unknown) => ({ routes: { a } })
  const plugins = (...all: unknown[]) => ({ plugins: all })
  it.each<readonly [Readonly<Record<string, unknown>>, RegExp]>([
    [{ storage: undefined }, /storage/],
    [{ storage: { ...memoryStorage(), remove: undefined } }, /storage/],
    ...[undefined, '', 'x'.repeat(256)].map((bucket) => [{ bucket }, /bucket/] as const),
    ...['api', '/api?x', '/a b', 7].map((basePath) => [{ basePath }, /basePath/] as const),
    [{ plugins: undefined }, /plugins/],
    [plugins(null), /plugins/],
    [plugins({ ...records(), id: '' }), /plugins/],
    [plugins(clockPlugin), /must include one plugin that keeps records: add db\(\)\.$/],
    [
      plugins(records(), { ...records(), id: 'db2' }),
      /must include only one plugin that keeps records \(got 2\)\.$/,
    ],
    [plugins(records(), records()), /"db" is already in use/],
    [plugins(records(), { ...clockPlugin, id: 'handler' }), /"handler" is already in use/],
    [{ routes: 'avatars' }, /routes/],
    [{ routes: {} }, /at least one route/],
    [route(true), /: routes\.a must be an object \(got true\)\.$/],
    [{ routes: { 'a b': true } }, /: routes\["a b"\] must be an object/],
    [{ routes: { '': {} } }, /route/],
    [{ routes: { ['x'.repeat(256)]: {} } }, /route/],
    [route({ maxFileSize: -1 }), /: routes\.a\.maxFileSize must be an integer from 0 to 9007199254740991\b/],
    [route({ maxFileSize: 0.5 }), /maxFileSize/],
    [route({ maxFileSize: {} }), /maxFileSize/],
    [route({ contentTypes: 'image/png' }), /contentTypes/],
    [route({ contentTypes: [] }), /contentTypes/],
    [
      route({ contentTypes: ['image/*', 'png'] }),
      /: routes\.a\.contentTypes\[1\] must be a media type such as .* \(got "png"\)\.$/,
    ],
    [route({ key: 'x' }), /key must be a function/],
    [{ buckets: 'files' }, /: buckets must be an array of names \(got "files"\)/],
    [{ buckets: ['files', ''] }, /: buckets\[1\] must be a string of 1 to 255 characters/],
    [route({ bucket: '' }), /: routes\.a\.bucket must be a string of 1 to 255 characters/],
    [route({ metadata: true }), /: routes\.a\.metadata must be false or a function \(got true\)\.$/],
    [route({ metadata: {} }), /metadata must be false or a function/],
    [route({ overwrite: 'yes' }), /overwrite/],
    [route({ guard: {} }), /guard must be a function/],
    [route({ http: 'no' }), /: routes\.a\.http must be true or false \(got "no"\)/],
    [{ upload: 'on' }, /upload/],
    [{ upload: { guard: 1 } }, /upload\.guard/],
    [{ download: { guard: 1 } }, /download\.guard/],
    [{ delete: { guard: 1 } }, /delete\.guard/],
    [{ upload: { expiresIn: 0 } }, /upload\.expiresIn/],
    [{ upload: { expiresIn: 0.5 } }, /upload\.expiresIn/],
    [{ download: { expiresIn: 604801 } }, /download\.expiresIn/],
    [{ download: { expiresIn: '900' } }, /download\.expiresIn/],
    [
      { download: { expiresIn: () => 60 } },
      /download\.maxExpiresIn must be set if download\.expiresIn is a function/,
    ],
    [{ download: { expiresIn: () => 60, maxExpiresIn: 604801 } }, /download\.maxExpiresIn/],
    [
      { download: { expiresIn: 60, maxExpiresIn: 59 } },
      /download\.maxExpiresIn must be .* from 60 to 604800/,
    ],
    [{ onError: console }, /onError/],
    [{ now: new Date() }, /now/],
  ])('refuses invalid options: %#', (options, message) => {
    const create = () => createS3Server({ ...good(), ...options })
    expect(create).toThrow(TypeError)
    expect(create).toThrow(message)
    expect(create).toThrow(/^createS3Server: /)
  })

  it('throws a TypeError without options', () => {
    const none: unknown = undefined
    const message = /createS3Server: the options must be an object \(got undefined\)\.$/
    expect(() => createS3Server(none as S3ServerOptions)).toThrow(message)
  })

  it('accepts null for every optional option, and lifetimes from 1 second to 7 days', () => {
    const nulls = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null]))
    const a = nulls('maxFileSize', 'contentTypes', 'key', 'metadata', 'bucket', 'overwrite', 'guard', 'http')
    const life = nulls('guard', 'expiresIn', 'maxExpiresIn')
    for (const options of [
      nulls('basePath', 'routes', 'upload', 'download', 'delete', 'onError', 'now'),
      { ...route(a), upload: life, download: life },
      { upload: { expiresIn: 1 }, download: { expiresIn: 604800 } },
      { upload: { expiresIn: 604800 }, download: { expiresIn: 1 } },
    ]) {
      expect(() => createS3Server({ ...good(), ...(options as object) })).not.toThrow()
    }
  })
})

describe('a disabled operation', () => {
  it.each([
    ['POST', '/upload', 'upload'],
    ['POST', '/upload/confirm', 'upload'],
    ['POST', '/upload/abort', 'upload'],
    ['POST', '/multipart', 'multipart'],
    ['GET', '/download?key=a', 'download'],
    ['GET', '/file?key=a', 'download'],
    ['DELETE', '/object?key=a', 'delete'],
  ])('has an unknown path, and leaves the others: %s %s', async (method, path, option) => {
    const on = startService().as('user:1')
    const off = startService({ [option]: false }).as('user:1')
    expect(await errorOf(await off.send(method, path))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect((await errorOf(await on.send(method, path))).code).not.toBe('NOT_FOUND')
    expect((await off.send('GET', '/db/objects')).status).toBe(200)
  })

  it('includes the storage paths of a storage that does not serve its own URLs', async () => {
    const { as } = startService({ storage: (memory) => ({ ...memory, serve: undefined as never }) })
    expect((await errorOf(await as(null).send('GET', '/_storage/x'))).code).toBe('NOT_FOUND')
  })
})
