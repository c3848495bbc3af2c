import { HTTPException } from 'hono/http-exception'
import { createObjectAccessGuard } from '@svc/db'
import { beforeAll, describe, expect, it } from 'vitest'
import { BUCKET, errorOf, startService, type Caller, type ServiceOptions } from './service.js'

/** How frameworks and their helpers refuse a request. */
const refusals: readonly [string, (status: number) => unknown][] = [
  ['a Response', (status) => new Response(null, { status })],
  ['the HTTPException of Hono', (status) => new HTTPException(status as 401)],
  ['an error with a status, as of http-errors', (status) => Object.assign(new Error('no'), { status })],
  [
    'an error with a statusCode, as of Fastify',
    (statusCode) => Object.assign(new Error('no'), { statusCode }),
  ],
  ['an object with a status, as of SvelteKit', (status) => ({ status, body: { message: 'no' } })],
]

type Ask = (caller: Caller, key: string) => Promise<Response>
const begin: Ask = (caller) => caller.begin()
const download: Ask = (caller, key) => caller.download(key)

/** Each function of the application that can refuse a request, in a service where it throws. */
const functions: Record<string, readonly [ask: Ask, options: (fail: () => never) => ServiceOptions]> = {
  resolveScope: [begin, (resolveScope) => ({ resolveScope })],
  quota: [begin, (quota) => ({ quota })],
  'upload.guard': [begin, (guard) => ({ upload: { guard } })],
  "a route's guard": [begin, (guard) => ({ routes: { default: { guard } } })],
  "a route's maxFileSize": [begin, (maxFileSize) => ({ routes: { default: { maxFileSize } } })],
  "a route's key": [begin, (key) => ({ routes: { default: { key } } })],
  "a route's metadata": [begin, (metadata) => ({ routes: { default: { metadata } } })],
  'download.guard': [download, (guard) => ({ download: { guard } })],
  'delete.guard': [(caller, key) => caller.delete(key), (guard) => ({ delete: { guard } })],
}

describe.each(Object.entries(functions))('%s', (name, [ask, options]) => {
  const { as, objects, storage, clock } = startService()
  let key: string
  beforeAll(async () => {
    key = (await as('user:1').upload()).key
  })

  /** Returns the response where the function throws this, and what `onError` got. */
  async function thrown(value: unknown) {
    const fail = () => {
      throw value
    }
    const service = startService({ ...options(fail), objects, clock, storage: () => storage })
    const { code } = await errorOf(await ask(service.as('user:1'), key))
    await Promise.resolve()
    return { code, reported: service.reported.length }
  }

  it.each(refusals)('refuses by throwing %s, which is no error', async (_, refusal) => {
    expect(await thrown(refusal(401))).toEqual({ code: 'UNAUTHORIZED', reported: 0 })
    expect(await thrown(refusal(403))).toEqual({ code: 'FORBIDDEN', reported: 0 })
  })

  it('fails with what has another status', async () => {
    const isGuard = name.includes('guard')
    for (const [, refusal] of refusals) {
      for (const status of isGuard ? [302, 410, 500] : [302, 404, 500]) {
        const code = isGuard ? 'FORBIDDEN' : 'INTERNAL_ERROR'
        expect(await thrown(refusal(status))).toEqual({ code, reported: 1 })
      }
    }
  })
})

describe.each(refusals)('a 404 that is thrown as %s hides an object like a missing one', (_, refusal) => {
  const hide = () => {
    throw refusal(404)
  }
  const reads: readonly Ask[] = [
    (caller, key) => caller.download(key),
    (caller, key) => caller.file({ key }),
    (caller, key) => caller.send('GET', `/db/object?key=${key}`),
  ]
  it.each<readonly [string, ServiceOptions, string | null, readonly Ask[]]>([
    ['mayRead', { mayRead: hide }, 'user:2', reads],
    ['mayRead, to a caller who is not signed in', { mayRead: hide }, null, reads],
    ['download.guard', { download: { guard: hide } }, 'user:1', reads.slice(0, 2)],
    ['delete.guard', { delete: { guard: hide } }, 'user:1', [(caller, key) => caller.delete(key)]],
  ])('by %s', async (_name, options, scope, asks) => {
    const service = startService(options)
    const { key } = await service.as('user:1').upload()
    const caller = service.as(scope)
    for (const ask of asks) {
      const missing = await errorOf(await ask(caller, 'missing'))
      expect(missing.code).toBe(scope === null ? 'UNAUTHORIZED' : 'OBJECT_NOT_FOUND')
      expect(await errorOf(await ask(caller, key))).toEqual(missing)
    }
    await Promise.resolve()
    expect(service.reported).toEqual([])
  })

  it.each(['/upload', '/multipart'])('by the guard of POST %s', async (path) => {
    const service = startService({ upload: { guard: hide } })
    const file = { filename: 'a.txt', contentType: 'text/plain', size: 3 }
    const { code } = await errorOf(await service.as('user:1').send('POST', path, file))
    await Promise.resolve()
    expect([code, service.reported]).toEqual(['OBJECT_NOT_FOUND', []])
  })
})

it.each(refusals)('authorize of createObjectAccessGuard refuses by throwing %s', async (_, refusal) => {
  const { as, objects: client } = startService()
  const { key } = await as('user:1').upload()
  const request = as('user:2').request('GET', '/')
  for (const [status, code] of [
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
    [404, 'OBJECT_NOT_FOUND'],
  ] as const) {
    const resolveScope = () => 'user:2'
    const authorize = () => {
      throw refusal(status)
    }
    const guard = createObjectAccessGuard({ client, resolveScope, authorize })
    await expect(guard({ request, bucket: BUCKET, key })).rejects.toMatchObject({ code })
  }
})
