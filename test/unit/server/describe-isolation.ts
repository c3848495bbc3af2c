import { createAttemptId, StorageError } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../conformance/clock.js'
import * as inParts from './multipart/in-parts.js'
import { uploads } from './doors.js'
import {
  beginAndPut,
  BUCKET,
  errorOf,
  startService,
  type Caller,
  type Service,
  type ServiceOptions,
} from './service.js'

/** Everything in a response that a client can see. */
async function seen(response: Response) {
  return { status: response.status, headers: [...response.headers], body: await response.text() }
}

interface Target {
  readonly key: string
  /** The current or former attempt of the owner. */
  readonly id: string
  readonly uploadId?: string
}

const KEY = 'shared/report'
const MISSING: Target = { key: KEY, id: createAttemptId() }
const routes = { docs: { key: () => KEY, overwrite: true } }

/** The states of the owner's key. */
const states: Record<string, (owner: Caller, service: Service) => Promise<Target>> = {
  pending: async (owner) => (await owner.begun()).object,
  'pending and uploaded': async (owner) => (await beginAndPut(owner)).object,
  'pending and uploaded in parts': async (owner) => {
    const parts = await inParts.begun(owner)
    await inParts.sendParts(owner, parts)
    return { ...parts.object, uploadId: parts.uploadId }
  },
  active: (owner) => owner.upload(),
  'active, with its latest attempt id': async (owner) => {
    await owner.upload()
    const { object } = await beginAndPut(owner)
    await owner.confirm(object)
    return object
  },
  'active with a pending replacement': async (owner) => {
    await owner.upload()
    return (await owner.begun()).object
  },
  deleted: async (owner) => {
    const object = await owner.upload()
    await owner.delete(KEY)
    return object
  },
  released: async (owner) => {
    const { object } = await owner.begun()
    await owner.abort(object)
    return object
  },
  'past its end': async (owner, { objects, clock }) => {
    const object = await owner.upload()
    await objects.update({ bucket: BUCKET, key: KEY, temporarySeconds: 1 })
    clock.advance(SECOND)
    return object
  },
}

type Ask = (caller: Caller, target: Target) => Promise<Response>
const named = (path: string, { key }: Target) => `${path}?key=${encodeURIComponent(key)}`
const multipart = (verb: string): [string, Ask] => [
  `multipart ${verb}`,
  (caller, { key, id, uploadId = 'u1' }) =>
    caller.send('POST', `/multipart/${verb}`, { key, id, uploadId, partNumbers: [1], failure }),
]
/** What a stranger may say about an attempt, which must not reach `onError`. */
const failure = { status: 403, message: 'AccessDenied' }

/** Every request that names an object, or counts or lists objects. */
const verbs: Record<string, Ask> = {
  confirm: (caller, target) => caller.confirm(target),
  'confirm of an unknown attempt': (caller, { key }) => caller.confirm({ key, id: MISSING.id }),
  abort: (caller, target) => caller.abort(target),
  'abort of a refused PUT': (caller, { key, id }) =>
    caller.send('POST', '/upload/abort', { key, id, failure }),
  'abort with an invalid failure': (caller, { key, id }) =>
    caller.send('POST', '/upload/abort', { key, id, failure: 'x' }),
  'abort of an unknown attempt': (caller, { key }) => caller.abort({ key, id: MISSING.id }),
  ...Object.fromEntries(['parts', 'list', 'complete', 'abort'].map(multipart)),
  download: (caller, { key }) => caller.download(key),
  'HEAD of a download': (caller, target) => caller.send('HEAD', named('/download', target)),
  file: (caller, { key }) => caller.file({ key }),
  'file by id': (caller, { id }) => caller.file({ id }),
  'HEAD of a file': (caller, target) => caller.send('HEAD', named('/file', target)),
  delete: (caller, { key }) => caller.delete(key),
  'db.getObject': (caller, target) => caller.send('GET', named('/db/object', target)),
  'db.getObject by id': (caller, { id }) => caller.send('GET', `/db/object?id=${id}`),
  'db.updateObject': (caller, target) =>
    caller.send('PATCH', named('/db/object', target), { filename: 'stolen', attemptId: target.id }),
  'db.updateObject at a key': (caller, target) =>
    caller.send('PATCH', named('/db/object', target), { metadata: null, contentType: 'text/html' }),
  'db.updateObject by id': (caller, { id }) =>
    caller.send('PATCH', `/db/object?id=${id}`, { setMetadata: { stolen: 'yes' } }),
  'db.getUsage': (caller) => caller.send('GET', '/db/usage'),
  'db.listObjects of active': (caller) => caller.send('GET', '/db/objects'),
  'db.listObjects of pending': (caller) => caller.send('GET', '/db/objects?status=pending'),
  'db.listObjects of deleted': (caller) => caller.send('GET', '/db/objects?status=deleted'),
}

const update = { fields: ['filename', 'metadata', 'contentType'] } as const
const empty = startService({ routes, usageEndpoint: true, update })
const ofMissing: Record<string, ReturnType<typeof seen>> = {}
/** Returns the response for a missing object, which depends on neither the rule nor the state of a key. */
const seenOfMissing = (verb: string, scope: string | null) =>
  (ofMissing[`${verb} ${scope}`] ??= verbs[verb]!(empty.as(scope), MISSING).then(seen))

const reading = ['download', 'HEAD of a download', 'file', 'file by id', 'HEAD of a file']
const readable = new Set([...reading, 'db.getObject', 'db.getObject by id'])

/** The complete state of the service. */
async function holdings({ objects, storage }: Service, owner: string) {
  const rows = []
  for (const status of ['pending', 'active', 'deleted'] as const) {
    rows.push(...(await objects.listByScope({ scope: owner, status })).objects)
  }
  const leftovers = await objects.listLeftovers()
  const bytes = []
  for (const { storageKey } of [...rows, ...leftovers]) {
    const at = { bucket: BUCKET, key: storageKey ?? KEY }
    bytes.push(await storage.head(at), await storage.multipart!.list(at))
  }
  return { rows, leftovers, bytes, usage: await objects.getScopeUsage(owner) }
}

/** The application's `mayRead`, where it hides every object, and where it shows them. */
const rules: Record<string, { readonly mayRead: ServiceOptions['mayRead']; readonly shows?: true }> = {
  'no mayRead': { mayRead: null },
  'mayRead that resolves to false': { mayRead: async () => Promise.resolve(false) },
  'mayRead that returns a truthy value': { mayRead: (() => 'yes') as never },
  'mayRead that throws': {
    mayRead(_, { scope }) {
      if (scope !== null) throw new StorageError('OBJECT_NOT_FOUND')
      throw new StorageError('FORBIDDEN', { message: 'Sign in to see it.' })
    },
  },
  "mayRead that throws its framework's refusal": {
    mayRead(_, { scope }) {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- as loaders of Remix and SvelteKit do
      throw new Response(null, { status: scope === null ? 401 : 403 })
    },
  },
  'mayRead that shows everything': { mayRead: () => true, shows: true },
}

/** Scopes with names similar to the owner's, and no scope. */
export const STRANGERS = ['user:1', 'user:10', 'user:2 ', 'USER:2', null]

/**
 * Sends every request as a stranger, for each rule and state. `strangersOf` chooses who sends it. Its turn is the number of
 * the request plus that of the state, so that each request has different strangers in different states.
 */
export function describeStrangers(strangersOf: (turn: number) => readonly (string | null)[]): void {
  describe.each(Object.entries(rules))("with %s, another scope's object", (_, { mayRead, shows }) => {
    it.each(Object.entries(states))(
      'that is %s looks like a missing one, unless it may be read',
      async (state, make) => {
        const guarded: unknown[] = []
        const guard = ({ scope }: { scope?: string | null }) => guarded.push(scope)
        const service = startService({
          ...{ routes, mayRead, usageEndpoint: true, update: { ...update, guard } },
          ...(!shows && { download: { guard }, delete: { guard } }),
        })
        const target = await make(service.as('user:2'), service)
        const active = await service.objects.findActive({ bucket: BUCKET, key: KEY })
        guarded.length = 0
        const before = await holdings(service, 'user:2')
        let turn = Object.keys(states).indexOf(state)
        for (const [verb, ask] of Object.entries(verbs)) {
          for (const scope of strangersOf(turn++)) {
            const response = await seen(await ask(service.as(scope), target))
            // The id of an attempt that replaces the object names no active object.
            const isNamed = !verb.endsWith('by id') || active?.id === target.id
            const isThere = active !== null && active.temporaryUntil === null
            if (shows && isThere && isNamed && readable.has(verb)) {
              expect([200, 302], verb).toContain(response.status)
            } else {
              expect(response, verb).toEqual(await seenOfMissing(verb, scope))
            }
          }
          expect(await holdings(service, 'user:2'), verb).toEqual(before)
        }
        expect({ guarded, reported: service.reported }).toEqual({ guarded: [], reported: [] })
      },
    )
  })
}

/** Tests what strangers and the owner see elsewhere. */
export function describeOtherAnswers(): void {
  it.each(Object.entries(states))(
    's3.db.keep of an object of another scope that is %s rejects as for a missing one',
    async (_, make) => {
      const service = startService({ routes, mayRead: () => true })
      const target = await make(service.as('user:2'), service)
      const before = await holdings(service, 'user:2')
      const own = await service.s3.files.put({ scope: 'user:1', route: 'docs', key: 'own', body: 'abc' })
      const kept = async (scope: string, ...ids: string[]) => {
        const request = service.as(scope).request('POST', '/notes')
        return service.s3.db.keep(request, { ids }).catch((error: unknown) => error)
      }
      for (const scope of ['user:1', 'user:10', 'user:2 ', 'USER:2']) {
        expect(await kept(scope, target.id)).toEqual(await kept(scope, MISSING.id))
      }
      expect(await kept('user:1', own.id, target.id)).toMatchObject({ params: { missing: '1' } })
      expect(await holdings(service, 'user:2')).toEqual(before)
    },
  )

  describe("the caller's own object", () => {
    it.each(['deleted', 'released'])('that is %s looks like a missing object', async (state) => {
      const service = startService({ routes, usageEndpoint: true, update })
      const owner = service.as('user:2')
      const target = await states[state]!(owner, service)
      for (const [verb, ask] of Object.entries(verbs)) {
        if (verb === 'db.listObjects of deleted') continue
        expect(await seen(await ask(owner, target)), verb).toEqual(await seenOfMissing(verb, 'user:2'))
      }
    })

    it.each([
      ['confirm', [409, 200, 404, 200, 200, 409, 404, 404, 200]],
      ['abort', [204, 204, 404, 404, 404, 204, 404, 404, 404]],
      ['multipart complete', [404, 404, 200, 200, 200, 404, 404, 404, 200]],
      ['multipart abort', [404, 404, 204, 404, 404, 404, 404, 404, 404]],
      ['download', [404, 404, 404, 200, 200, 200, 404, 404, 404]],
      ['file', [404, 404, 404, 302, 302, 302, 404, 404, 404]],
      ['delete', [204, 204, 204, 204, 204, 204, 404, 404, 204]],
      ['db.getObject', [200, 200, 200, 200, 200, 200, 404, 404, 404]],
      ['db.updateObject at a key', [404, 404, 404, 200, 200, 200, 404, 404, 404]],
    ])('is found by %s in these states: %j', async (verb, expected) => {
      const statuses = []
      for (const make of Object.values(states)) {
        const service = startService({ routes, update })
        const owner = service.as('user:2')
        statuses.push((await verbs[verb]!(owner, await make(owner, service))).status)
      }
      expect(statuses).toEqual(expected)
    })
  })

  it.each([true, false])(
    'an upload to the key of another scope is a KEY_CONFLICT, the only response that reveals a key (overwrite: %s)',
    async (overwrite) => {
      const routes = { docs: { key: () => KEY, overwrite } }
      const service = startService({ routes })
      await service.as('user:2').upload()
      const before = await holdings(service, 'user:2')
      const active = await seen(await service.as('user:1').begin())
      expect(active.status).toBe(409)
      const parts = { contentType: 'text/plain', filename: 'a.txt', size: 3 }
      expect(await seen(await service.as('user:1').send('POST', '/multipart', parts))).toEqual(active)
      expect(await holdings(service, 'user:2')).toEqual(before)
      const pending = startService({ routes })
      await pending.as('user:2').begun()
      expect(await seen(await pending.as('user:1').begin())).toEqual(active)
    },
  )

  it.each(uploads)(
    '$name over an own object says that the route does not allow overwrite',
    async ({ begin }) => {
      const caller = startService({ routes: { docs: { key: () => KEY } } }).as('user:2')
      await begin(caller)
      expect((await begin(caller)).status).toBe(201)
      await caller.upload()
      expect(await errorOf(await begin(caller))).toEqual({
        status: 409,
        code: 'KEY_CONFLICT',
        message: 'You have an object with this key, and the upload route "docs" does not allow overwrite.',
      })
    },
  )
}
