import { createAttemptId } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { bytesOfSize, startService, type Caller, type Service, type ServiceOptions } from './service.js'

/** Everything in a response that a client can see. */
async function seen(response: Response) {
  return { status: response.status, headers: [...response.headers], body: await response.text() }
}

interface Target {
  readonly key: string
  /** The current or former attempt of the other scope. */
  readonly id: string
}

const KEY = 'shared/report'
const MISSING: Target = { key: KEY, id: createAttemptId() }

const routes = { docs: { key: () => KEY, overwrite: true } }

/** The states of the owner's key. */
const states: Record<string, (owner: Caller) => Promise<Target>> = {
  pending: async (owner) => (await owner.begun()).object,
  'pending and uploaded': async (owner) => {
    const { object, upload } = await owner.begun()
    await owner.put(upload, bytesOfSize(3))
    return object
  },
  active: async (owner) => owner.upload(),
  'active, with its latest attempt id': async (owner) => {
    await owner.upload()
    const { object, upload } = await owner.begun()
    await owner.put(upload, bytesOfSize(3))
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
}

/** Every request that names an object. */
const verbs: Record<string, (caller: Caller, target: Target) => Promise<Response>> = {
  confirm: (caller, target) => caller.confirm(target),
  'confirm of an unknown attempt': (caller, { key }) => caller.confirm({ key, id: MISSING.id }),
  abort: (caller, target) => caller.abort(target),
  'abort of an unknown attempt': (caller, { key }) => caller.abort({ key, id: MISSING.id }),
  download: (caller, { key }) => caller.download(key),
  file: (caller, { key }) => caller.file({ key }),
  'file by id': (caller, { id }) => caller.file({ id }),
  'HEAD of a file': (caller, { key }) => caller.send('HEAD', `/file?key=${encodeURIComponent(key)}`),
  delete: (caller, { key }) => caller.delete(key),
  'db.getObject': (caller, { key }) => caller.send('GET', `/db/object?key=${encodeURIComponent(key)}`),
  'db.getObject by id': (caller, { id }) => caller.send('GET', `/db/object?id=${id}`),
  'db.getUsage': (caller) => caller.send('GET', '/db/usage'),
  'HEAD of a download': (caller, { key }) => caller.send('HEAD', `/download?key=${encodeURIComponent(key)}`),
  'db.listObjects of active': (caller) => caller.send('GET', '/db/objects'),
  'db.listObjects of pending': (caller) => caller.send('GET', '/db/objects?status=pending'),
  'db.listObjects of deleted': (caller) => caller.send('GET', '/db/objects?status=deleted'),
}

/** The complete state of the service. */
async function holdings({ objects, storage }: Service, owner: string) {
  const rows = []
  for (const status of ['pending', 'active', 'deleted'] as const) {
    rows.push(...(await objects.listByScope({ scope: owner, status })).objects)
  }
  const leftovers = await objects.listLeftovers()
  const bytes = []
  for (const { storageKey } of [...rows, ...leftovers]) {
    bytes.push(await storage.head({ bucket: 'files', key: storageKey ?? KEY }))
  }
  return { rows, leftovers, bytes, usage: await objects.getScopeUsage(owner) }
}

/** The application's `mayRead`, where it hides every object. */
const hiding: Record<string, ServiceOptions['mayRead']> = {
  'no mayRead': null,
  'mayRead that resolves to false': async () => false,
  'mayRead that returns a truthy value': (() => 'yes') as never,
}

/** Scopes with names similar to the owner's, and no scope. */
const strangers = ['user:1', 'user:10', 'user:2 ', 'USER:2', null]

const rules = Object.entries(hiding).flatMap(([rule, mayRead]) =>
  Object.entries(states).map(([state, make]) => ({ rule, mayRead, state, make })),
)

describe.each(rules)("with $rule, another scope's object that is $state", ({ mayRead, make }) => {
  it.each(Object.entries(verbs))('looks like a missing object to %s', async (__, ask) => {
    for (const scope of strangers) {
      const usageEndpoint = true
      const missing = await seen(await ask(startService({ routes, usageEndpoint }).as(scope), MISSING))

      const guarded: unknown[] = []
      const guard = ({ scope: caller }: { scope?: string | null }) => guarded.push(caller)
      const service = startService({
        ...{ routes, mayRead, usageEndpoint },
        ...{ download: { guard }, delete: { guard } },
      })
      const target = await make(service.as('user:2'))
      guarded.length = 0
      const before = await holdings(service, 'user:2')
      expect(await seen(await ask(service.as(scope), target))).toEqual(missing)
      expect(await holdings(service, 'user:2')).toEqual(before)
      expect({ guarded, reported: service.reported }).toEqual({ guarded: [], reported: [] })
    }
  })
})

describe('an object that mayRead shows to everyone', () => {
  const mayRead = () => true
  const reading = ['download', 'file', 'file by id', 'HEAD of a file', 'HEAD of a download']
  const readable = new Set([...reading, 'db.getObject', 'db.getObject by id'])

  it.each(Object.entries(states))('and that is %s can only be read', async (_, make) => {
    for (const [verb, ask] of Object.entries(verbs)) {
      for (const scope of strangers) {
        const service = startService({ routes, mayRead, usageEndpoint: true })
        const target = await make(service.as('user:2'))
        const before = await holdings(service, 'user:2')
        const response = await seen(await ask(service.as(scope), target))
        expect(await holdings(service, 'user:2')).toEqual(before)
        const active = await service.objects.findActive({ bucket: 'files', key: KEY })
        // The id of an attempt that replaces the object names no active object.
        const isNamed = !verb.endsWith('by id') || active?.id === target.id
        if (active && isNamed && readable.has(verb)) {
          expect([200, 302]).toContain(response.status)
        } else {
          const missing = await ask(startService({ routes, usageEndpoint: true }).as(scope), MISSING)
          expect([verb, response]).toEqual([verb, await seen(missing)])
        }
      }
    }
  })
})

describe("the caller's own object", () => {
  it.each(['deleted', 'released'])('that is %s looks like a missing object', async (state) => {
    const empty = startService({ routes, usageEndpoint: true })
    const service = startService({ routes, usageEndpoint: true })
    const target = await states[state]!(service.as('user:2'))
    for (const [verb, ask] of Object.entries(verbs)) {
      if (verb === 'db.listObjects of deleted') continue
      const missing = await seen(await ask(empty.as('user:2'), MISSING))
      expect(await seen(await ask(service.as('user:2'), target))).toEqual(missing)
    }
  })

  it('is found by each of the requests above', async () => {
    const found: Record<string, number[]> = {}
    for (const [verb, ask] of Object.entries(verbs)) {
      found[verb] = []
      for (const make of Object.values(states)) {
        const service = startService({ routes })
        found[verb].push((await ask(service.as('user:2'), await make(service.as('user:2')))).status)
      }
    }
    expect(found).toMatchObject({
      confirm: [409, 200, 200, 200, 409, 404, 404],
      abort: [204, 204, 404, 404, 204, 404, 404],
      download: [404, 404, 200, 200, 200, 404, 404],
      file: [404, 404, 302, 302, 302, 404, 404],
      delete: [204, 204, 204, 204, 204, 404, 404],
      'db.getObject': [200, 200, 200, 200, 200, 404, 404],
    })
  })
})

describe('an upload to the key of another scope', () => {
  it('is refused with KEY_CONFLICT, the only response that reveals a key', async () => {
    const service = startService({ routes })
    await service.as('user:2').upload()
    const before = await holdings(service, 'user:2')
    const active = await seen(await service.as('user:1').begin())
    expect(active.status).toBe(409)
    expect(await holdings(service, 'user:2')).toEqual(before)

    const pending = startService({ routes })
    await pending.as('user:2').begun()
    expect(await seen(await pending.as('user:1').begin())).toEqual(active)
  })
})
