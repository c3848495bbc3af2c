import {
  createS3Server,
  db,
  memoryStorage,
  StorageError,
  type MayReadContext,
  type RecordKeeper,
  type StorageObject,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { BUCKET, bytesOfSize, errorOf, Caller, fetchBytes, startService } from './service.js'

type Ask = (caller: Caller, named: { readonly key: string; readonly id: string }) => Promise<Response>

/** The requests that `mayRead` can allow, by its `operation`. */
const requests: Readonly<Record<MayReadContext['operation'], Ask>> = {
  download: (caller, { key }) => caller.download(key),
  file: (caller, { id }) => caller.file({ id }),
  object: (caller, { key }) => caller.send('GET', `/db/object?key=${encodeURIComponent(key)}`),
}

const readers = ['user:2', null]

describe.each(Object.entries(requests))('mayRead and %s', (operation, ask) => {
  it('serves an active object of another owner', async () => {
    for (const answer of [true, Promise.resolve(true)]) {
      const { as } = startService({ mayRead: () => answer })
      const object = await as('user:1').upload()
      for (const reader of readers) {
        const response = await ask(as(reader), object)
        if (operation === 'object') {
          expect(await response.json()).toEqual({ object })
          continue
        }
        const url = response.headers.get('location') ?? ((await response.json()) as { url: string }).url
        expect(await fetchBytes(as(null), url)).toEqual(bytesOfSize(3))
      }
    }
  })

  it('is asked about the object, by whom, and for what', async () => {
    const asked: { object: StorageObject; context: object }[] = []
    const { as, objects } = startService({
      mayRead: (object, { request, ...context }) => {
        asked.push({ object, context: { ...context, path: new URL(request.url).pathname } })
        return true
      },
    })
    const { key, id } = await as('user:1').upload()
    for (const reader of readers) await ask(as(reader), { key, id })
    const object = await objects.findActive({ bucket: BUCKET, key })
    const path = { download: '/api/s3/download', file: '/api/s3/file', object: '/api/s3/db/object' }[
      operation
    ]
    const context = { operation, bucket: BUCKET, key, object, route: 'default', size: 3, path }
    expect(asked).toEqual(readers.map((scope) => ({ object, context: { ...context, scope } })))
  })

  it('is not asked about own, missing, pending and deleted objects, nor for bad input', async () => {
    const { as } = startService({
      mayRead: () => {
        throw new Error('must not be called')
      },
    })
    const own = await as('user:1').upload()
    expect([200, 302]).toContain((await ask(as('user:1'), own)).status)
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

  it('keeps the code of a StorageError', async () => {
    for (const code of ['FORBIDDEN', 'UNAUTHORIZED', 'DATABASE_UNAVAILABLE'] as const) {
      const { as } = startService({
        mayRead: async () => {
          throw new StorageError(code)
        },
      })
      const object = await as('user:1').upload()
      for (const reader of readers)
        expect(await errorOf(await ask(as(reader), object))).toMatchObject({ code })
    }
  })

  it('reports any other error, which the response does not reveal', async () => {
    const failure = new Error('the sessions are at cache.internal')
    const { as, reported } = startService({
      mayRead: () => {
        throw failure
      },
    })
    const object = await as('user:1').upload()
    for (const reader of readers) {
      const { code, message } = await errorOf(await ask(as(reader), object))
      expect({ code, message }).toEqual({ code: 'INTERNAL_ERROR', message: 'Something went wrong.' })
    }
    await Promise.resolve()
    expect(reported.map(({ error }) => error)).toEqual([failure, failure])
  })
})

describe('the guard of downloads', () => {
  it('runs for readers too, without a scope for a caller who is not signed in', async () => {
    const scopes: unknown[] = []
    const guard = ({ scope }: { scope?: string | null }) => {
      scopes.push(scope)
      if (scope === 'user:3') throw new Error('no')
    }
    const { as } = startService({ mayRead: () => true, download: { guard } })
    const { key } = await as('user:1').upload()
    const statuses = []
    for (const scope of ['user:1', 'user:2', 'user:3', null]) {
      statuses.push((await as(scope).download(key)).status, (await as(scope).file({ key })).status)
    }
    expect(statuses).toEqual([200, 302, 200, 302, 403, 403, 200, 302])
    expect(scopes).toEqual(['user:1', 'user:1', 'user:2', 'user:2', 'user:3', 'user:3', null, null])
  })
})

describe('without mayRead', () => {
  it('refuses callers who are not signed in before it reads the input', async () => {
    const { as } = startService()
    for (const path of ['/file', '/download', '/db/object', '/file?key=%ff']) {
      expect((await as(null).send('GET', path)).status).toBe(401)
    }
  })
})

const NEW_MEMBERS = ['readAccess', 'callerOf']

describe('a plugin that keeps records as in 1.5', () => {
  it('lets only owners read', async () => {
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
})
