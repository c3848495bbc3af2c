import { describe, expect, it } from 'vitest'
import { bytesOfSize, errorOf, startService } from './service.js'

describe('upload routes', () => {
  const routes = {
    avatars: { maxFileSize: 10, contentTypes: ['image/*', 'Application/PDF; a=b'] },
    videos: { bucket: 'large' },
  }

  it('must be named if there are several, and are recorded on the object', async () => {
    const caller = startService({ routes }).as('user:1')
    expect(await errorOf(await caller.begin())).toMatchObject({ status: 400, params: { field: 'route' } })
    const { object } = await caller.begun({ route: 'videos' })
    expect(object).toMatchObject({ route: 'videos', bucket: 'large' })
    expect(object.key).toMatch(/^videos\/[0-9a-f]{32}$/)
  })

  it('need not be named if there is only one', async () => {
    const { object } = await startService({ routes: { docs: {} } })
      .as('user:1')
      .begun()
    expect(object.route).toBe('docs')
  })

  it('alone determine the bucket', async () => {
    const { object } = await startService().as('user:1').begun({ bucket: 'elsewhere', key: 'mine' })
    expect(object.bucket).toBe('files')
    expect(object.key).not.toBe('mine')
  })

  it('limit the size, to the byte', async () => {
    const caller = startService({ routes }).as('user:1')
    const input = { route: 'avatars', contentType: 'image/png' }
    expect((await caller.begin({ ...input, size: 10 })).status).toBe(201)
    expect(await errorOf(await caller.begin({ ...input, size: 11 }))).toMatchObject({
      status: 413,
      code: 'FILE_TOO_LARGE',
      params: { max: 10, size: 11 },
    })
  })

  it.each([
    ['image/png', true],
    ['IMAGE/PNG; q=1', true],
    ['application/pdf', true],
    ['application/pdf ;x=y', true],
    ['application/pdfx', false],
    ['imagex/png', false],
    ['text/html', false],
  ])('match types without case and parameters: %s', async (contentType, good) => {
    const response = await startService({ routes }).as('user:1').begin({ route: 'avatars', contentType })
    expect(response.status).toBe(good ? 201 : 415)
    if (good) return
    expect(await errorOf(response)).toMatchObject({
      code: 'CONTENT_TYPE_NOT_ALLOWED',
      params: { contentType, allowed: 'image/*, application/pdf' },
    })
  })

  it('can have the names of inherited object properties', async () => {
    const odd = Object.fromEntries([
      ['__proto__', {}],
      ['constructor', {}],
    ])
    const caller = startService({ routes: odd }).as('user:1')
    expect((await caller.begun({ route: '__proto__' })).object.route).toBe('__proto__')
    expect((await caller.begin({ route: 'toString' })).status).toBe(400)
  })

  it('give their keys a safe prefix', async () => {
    const names = ['über uns/..', 'x'.repeat(100), '😀😀']
    const caller = startService({ routes: Object.fromEntries(names.map((name) => [name, {}])) }).as('user:1')
    const prefixes = []
    for (const route of names) prefixes.push((await caller.begun({ route })).object.key.split('/')[0])
    expect(prefixes).toEqual(['_ber_uns___', 'x'.repeat(64), '__'])
  })
})

describe('keys from a key function', () => {
  const named = {
    key: ({ scope, filename, route }: Record<string, string>) => `${scope}/${route}/${filename}`,
  }

  it('can depend on scope, filename, and route, and can be asynchronous', async () => {
    const { as } = startService({ routes: { docs: { key: async (context) => named.key({ ...context }) } } })
    expect((await as('user:1').begun({ filename: 'ä/b' })).object.key).toBe('user:1/docs/ä/b')
  })

  it.each([
    ['is too long', 'ü'.repeat(513)],
    ['is empty', ''],
    ['has NUL', 'a\0'],
    ['has an unpaired surrogate', '\udc00'],
    ['is not a string', 7],
  ])('are refused if one %s', async (_, key) => {
    const { as, objects } = startService({ routes: { docs: { key: () => key as string } } })
    expect(await errorOf(await as('user:1').begin())).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      params: { field: 'key' },
    })
    expect(await objects.countByScope('user:1')).toBe(0)
  })

  it('report an error of the function to onError, and not to the client', async () => {
    const broken = new Error('no such template')
    const { as, reportedBy } = startService({
      routes: {
        docs: {
          key: () => {
            throw broken
          },
        },
      },
    })
    const error = await errorOf(await as('user:1').begin())
    expect(error).toEqual({ status: 500, code: 'INTERNAL_ERROR', message: 'Something went wrong.' })
    expect(await reportedBy('upload')).toEqual([broken])
  })

  it.each([
    ['with .. inside', 'a/../../b', 'a/__/__/b'],
    ['of dots only', './..', '_/__'],
    ['of three dots', '...', '...'],
    ['with empty segments', '/a//b', '/a//b'],
    ['of maximum length', 'x'.repeat(1024), 'x'.repeat(987)],
    ['of maximum length in emoji', '😀'.repeat(256), '😀'.repeat(246)],
    ['with a character at the limit', `${'x'.repeat(986)}ü`, 'x'.repeat(986)],
  ])('get a storage key per attempt, without . and .. segments: a key %s', async (_, key, readable) => {
    const { as, objects } = startService({ routes: { docs: { key: () => key } } })
    const { object } = await as('user:1').begun()
    const row = await objects.findPending({ bucket: 'files', key })
    expect(row?.storageKey).toBe(`${readable}~${object.id}`)
    expect(new TextEncoder().encode(row?.storageKey ?? '').byteLength).toBeLessThanOrEqual(1024)
  })

  it('conflict with an active object unless the route overwrites', async () => {
    const routes = { once: { key: () => 'same' }, again: { key: () => 'same', overwrite: true } }
    const { as } = startService({ routes })
    const caller = as('user:1')
    await caller.upload({ route: 'once' })
    expect(await errorOf(await caller.begin({ route: 'once' }))).toMatchObject({
      status: 409,
      code: 'KEY_CONFLICT',
    })
    expect((await caller.begin({ route: 'again' })).status).toBe(201)
  })

  it('conflict with live rows of another scope, even if the route overwrites', async () => {
    const { as } = startService({ routes: { again: { key: () => 'same', overwrite: true } } })
    await as('user:1').begun()
    expect(await errorOf(await as('user:2').begin())).toMatchObject({ status: 409, code: 'KEY_CONFLICT' })
  })

  it('can be uploaded again by their owner; only the latest attempt can be confirmed', async () => {
    const caller = startService({ routes: { docs: { key: () => 'same' } } }).as('user:1')
    const first = await caller.begun()
    const second = await caller.begun()
    expect((await caller.put(first.upload, bytesOfSize(3, 1))).status).toBe(200)
    expect((await caller.put(second.upload, bytesOfSize(3, 2))).status).toBe(200)
    expect((await caller.confirm(first.object)).status).toBe(404)
    expect((await caller.confirm(second.object)).status).toBe(200)
    expect(await caller.bytes('same')).toEqual(bytesOfSize(3, 2))
  })
})
