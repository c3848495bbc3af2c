import { createObjectAccessGuard, transferScope, type StorageObject } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../conformance/clock.js'
import * as inParts from './multipart/in-parts.js'
import { BASE, BUCKET, startService, type Caller, type Service } from './service.js'

/** An hour after its upload the object is gone. */
const ROUTES = { drafts: { key: () => 'draft', overwrite: true, temporarySeconds: 3600 } }

type Open = (service: Service, object: StorageObject, caller: Caller) => Promise<unknown>

const query = ({ key }: StorageObject) => `key=${encodeURIComponent(key)}`
const request = new Request(BASE)

/** Resolves if the response is a success, else rejects with its code. */
async function succeeds(response: Promise<Response>): Promise<unknown> {
  const { ok, status, ...rest } = await response.then(async (sent) => {
    const { ok, status } = sent
    const text = await sent.text()
    return {
      ok,
      status,
      code: text.startsWith('{') ? (JSON.parse(text) as { code?: string }).code : undefined,
    }
  })
  if (ok || status === 302) return undefined
  throw Object.assign(new Error(), { code: rest.code ?? `status ${status}` })
}

/** Rejects like the store if nothing was found. */
async function found(result: Promise<unknown>): Promise<unknown> {
  if ((await result) === null) throw Object.assign(new Error(), { code: 'OBJECT_NOT_FOUND' })
  return undefined
}

const send =
  (method: string, path: (object: StorageObject) => string, body?: object): Open =>
  (_, object, caller) =>
    succeeds(caller.send(method, path(object), body))

const accessGuard =
  (status: 'active' | 'any', withAuthorize: boolean): Open =>
  ({ objects, clock }, { key }) =>
    createObjectAccessGuard({
      ...{ client: objects, resolveScope: () => 'user:1', status, now: clock.now },
      ...(withAuthorize && { authorize: () => true }),
    })({ request, bucket: BUCKET, key })

/** Every call and endpoint that leads to an object, and whether it still does past the end of the object. */
const doors: Readonly<Record<string, readonly [Open, 'missing' | 'open']>> = {
  'GET /download': [send('GET', (object) => `/download?${query(object)}`), 'missing'],
  'GET /file by key': [send('GET', (object) => `/file?${query(object)}`), 'missing'],
  'GET /file by id': [send('GET', ({ id }) => `/file?id=${id}`), 'missing'],
  'GET /db/object by key': [send('GET', (object) => `/db/object?${query(object)}`), 'missing'],
  'GET /db/object by id': [send('GET', ({ id }) => `/db/object?id=${id}`), 'missing'],
  'PATCH /db/object by key': [
    send('PATCH', (object) => `/db/object?${query(object)}`, { filename: 'b.txt' }),
    'missing',
  ],
  'PATCH /db/object by id': [
    send('PATCH', ({ id }) => `/db/object?id=${id}`, { filename: 'b.txt' }),
    'missing',
  ],
  'GET /download of a reader': [
    ({ as }, object) => succeeds(as('user:2').send('GET', `/download?${query(object)}`)),
    'missing',
  ],
  'GET /file of a reader': [
    ({ as }, object) => succeeds(as('user:2').send('GET', `/file?${query(object)}`)),
    'missing',
  ],
  'GET /db/object of a reader': [
    ({ as }, object) => succeeds(as('user:2').send('GET', `/db/object?${query(object)}`)),
    'missing',
  ],
  'files.get': [({ s3 }, { key }) => s3.files.get({ key }), 'missing'],
  'files.downloadURL': [({ s3 }, { key }) => s3.files.downloadURL({ key }), 'missing'],
  createObjectAccessGuard: [accessGuard('active', false), 'missing'],
  'createObjectAccessGuard with authorize': [accessGuard('active', true), 'missing'],
  'createObjectAccessGuard with any status': [accessGuard('any', false), 'missing'],
  's3.db.update': [({ s3 }, { key }) => s3.db.update(inScope(), { key, filename: 'b.txt' }), 'missing'],
  's3.db.update of the end': [
    ({ s3 }, { key }) => s3.db.update(inScope(), { key, temporarySeconds: null }),
    'missing',
  ],
  's3.db.keep': [({ s3 }, { id }) => s3.db.keep(inScope(), { ids: [id] }), 'missing'],
  'store.keep': [({ objects }, { id, scope }) => objects.keep({ scope, objects: [{ id }] }), 'missing'],
  'store.update': [
    ({ objects }, { bucket, key }) => found(objects.update({ bucket, key, temporarySeconds: 60 })),
    'missing',
  ],
  'store.transfer': [
    ({ objects }, { bucket, key }) => found(objects.transfer({ bucket, key, from: 'user:1', to: 'user:2' })),
    'missing',
  ],
  transferScope: [
    async ({ s3 }) =>
      found(transferScope(s3, { from: 'user:1', to: 'user:2' }).then((result) => result.transferred || null)),
    'missing',
  ],
  'POST /upload/confirm again': [
    (_, { key, attemptId }, caller) => succeeds(caller.confirm({ key, id: attemptId })),
    'open',
  ],
  'GET /db/objects': [
    async (_, { id }, caller) => {
      const { objects } = (await (await caller.send('GET', '/db/objects')).json()) as {
        objects: StorageObject[]
      }
      await found(Promise.resolve(objects.find((listed) => listed.id === id) ?? null))
    },
    'open',
  ],
  'store.findActive': [({ objects }, { bucket, key }) => found(objects.findActive({ bucket, key })), 'open'],
  'store.remove': [({ objects }, { bucket, key }) => found(objects.remove({ bucket, key })), 'open'],
  'files.delete': [({ s3 }, { key }) => found(s3.files.delete({ key })), 'open'],
  'DELETE /object': [send('DELETE', (object) => `/object?${query(object)}`), 'open'],
}

function inScope(): Request {
  return new Request(BASE, { headers: { 'x-scope': 'user:1' } })
}

describe('an object past its end', () => {
  it.each(Object.entries(doors))('%s', async (_, [open, expected]) => {
    for (const [late, outcome] of [
      [-1, 'open'],
      [0, expected],
      [30 * SECOND, expected],
    ] as const) {
      const service = startService({
        routes: ROUTES,
        update: true,
        mayRead: () => true,
        storage: (memory) => ({ ...memory, baseURL: `${BASE}/_storage` }),
      })
      const caller = service.as('user:1')
      const { key } = await caller.upload()
      const object = (await service.objects.findActive({ bucket: BUCKET, key }))!
      service.clock.moveTo(new Date(object.temporaryUntil!.getTime() + late))
      const result = await open(service, object, caller).then(
        () => 'open',
        (error: unknown) => (error as { code?: unknown }).code,
      )
      // A caller who may read it gets no other response than for an object that doesn't exist. HEAD and 401 are not among the doors.
      expect(result, `${late} ms`).toBe(outcome === 'open' ? 'open' : 'OBJECT_NOT_FOUND')
      expect(service.reported).toEqual([])
    }
  })

  it('is returned by a repeated completion of its upload in parts', async () => {
    const service = startService({ routes: ROUTES })
    const caller = service.as('user:1')
    const parts = await inParts.begun(caller)
    await inParts.sendParts(caller, parts)
    const first: unknown = await (await inParts.complete(caller, parts)).json()
    service.clock.advance(3600 * SECOND)
    const again = await inParts.complete(caller, parts)
    expect([again.status, await again.json()]).toEqual([200, first])
  })

  it('does not hide an upload in progress at its key', async () => {
    const service = startService({ routes: ROUTES })
    const caller = service.as('user:1')
    const { key } = await caller.upload()
    service.clock.advance(3600 * SECOND)
    const { object } = await caller.begun()
    expect(await (await caller.send('GET', `/db/object?key=${key}`)).json()).toMatchObject({
      object: { id: object.id, status: 'pending' },
    })
    const guard = createObjectAccessGuard({
      ...{ client: service.objects, resolveScope: () => 'user:1', status: 'any', now: service.clock.now },
    })
    expect(await guard({ request, bucket: BUCKET, key })).toMatchObject({ id: object.id })
  })

  it('is asked nobody about', async () => {
    const asked: unknown[] = []
    const ask = (object: unknown) => (asked.push(object), true)
    const service = startService({
      routes: { drafts: { ...ROUTES.drafts, guard: ({ replaces }) => void asked.push(replaces) } },
      mayRead: ask,
      download: { guard: ask },
      update: { guard: ask },
    })
    const caller = service.as('user:1')
    const { key } = await caller.upload()
    service.clock.advance(3600 * SECOND)
    asked.length = 0
    for (const scope of ['user:1', 'user:2', null]) {
      await service.as(scope).download(key)
      await service.as(scope).send('PATCH', `/db/object?key=${key}`, { filename: 'b' })
    }
    expect(asked).toEqual([])
    await caller.begun()
    expect(asked).toEqual([null])
  })
})
