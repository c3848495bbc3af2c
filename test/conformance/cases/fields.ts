import { holds } from '../assertions.js'
import type { MethodName } from '../calls.js'
import { observeStore } from '../calls.js'
import type { StorageObject } from '../../../src/core/store/records.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import type { INPUTS } from '../inputs.js'
import { callWith } from '../inputs.js'

type Input = Readonly<Record<string, unknown>>
type FieldOf<Method extends MethodName> = Exclude<keyof (typeof INPUTS)[Method], 'atKey'>

/** A call, and for each of its fields another value with which it must do something else. */
interface Example<Fields extends PropertyKey> {
  /** Prepares what the call meets under this key, and returns its input. */
  readonly prepare: (given: Given, key: string) => Promise<Input>
  readonly others: { readonly [Field in Fields]: Other }
  /**
   * Returns what shows a difference that the result does not show. It is then all that counts, because an adapter can build the
   * result from the input without storing it.
   */
  readonly afterwards?: (given: Given, key: string) => Promise<unknown>
}

/** A value, fields that need each other, or `UNSEEN` for a field that no single store can show. */
type Other =
  { readonly value: unknown } | ((given: Given, input: Input) => Promise<Input> | Input) | typeof UNSEEN
const UNSEEN = Symbol('unseen')

const other = (value: unknown) => ({ value })
const ANOTHER_ID = other('0199a000-0000-7000-8000-0000000000ff')
const ANOTHER_SCOPE = other('another scope')
const at = (given: Given, key: string) => ({ ...given.at, key })

async function reserved(given: Given, key: string): Promise<Input> {
  const { id } = await given.reserve({ key, id: given.newId(), uploadId: 'upload' })
  return { ...at(given, key), id }
}

/** Returns the object that the attempt at this key becomes, with what only the attempt has. */
async function attemptAndObject(given: Given, key: string): Promise<unknown> {
  const pending = await given.store.findPending(at(given, key))
  if (!pending) return 'no attempt'
  const { id, declaredSize, expiresAt, uploadId } = pending
  const object = await given.store.confirm({ ...at(given, key), id, size: 20 })
  return { ...(await given.store.findActive(object)), declaredSize, expiresAt, uploadId }
}

async function active(given: Given, key: string): Promise<Input> {
  await given.activate({ key, filename: 'name', contentType: 'a/b', metadata: { a: 'b' }, route: 'route' })
  return at(given, key)
}

/** Two objects of a scope, and an upload. */
async function listed(given: Given, key: string): Promise<Input> {
  await active(given, key)
  await active(given, `${key} too`)
  await reserved(given, `${key} in progress`)
  return { scope: given.scope }
}

async function expired(given: Given, key: string): Promise<Input> {
  for (const [scope, lasting] of [
    ['alice', 1],
    ['alice', 2],
    ['bob', 1],
  ] as const) {
    await given.reserve({ key: `${key} ${scope} ${lasting}`, scope, expiresAt: given.clock.in(lasting) })
  }
  given.clock.advance(2)
  return {}
}

/** Two leftovers, one of them put off. */
async function leftBehind(given: Given, key: string): Promise<Input> {
  for (const name of [key, `${key} too`]) {
    await given.reserve({ key: name, storageKey: `bytes of ${name}` })
    await given.store.release(at(given, name))
  }
  const [first] = await given.leftovers()
  await given.store.deferLeftover({ attemptId: first!.attemptId, until: given.clock.in(HOUR) })
  return {}
}

async function leftover(given: Given, key: string): Promise<Input> {
  await leftBehind(given, key)
  const { attemptId } = (await given.leftovers()).at(-1)!
  await given.store.deferLeftover({ attemptId, until: given.clock.now() })
  return { attemptId, until: given.clock.in(2 * HOUR) }
}

async function history(given: Given, key: string): Promise<Input> {
  await given.history({ key })
  await given.history({ key: `${key} too` })
  return { before: given.clock.now() }
}

/** Two objects that have ended, and one that has not. */
async function temporary(given: Given, key: string): Promise<Input> {
  for (const temporarySeconds of [60, 61, 3600]) {
    await given.activate({ key: `${key} ${temporarySeconds}`, temporarySeconds })
  }
  given.clock.advance(2 * MINUTE)
  return {}
}

async function arrived(given: Given, key: string): Promise<Input> {
  await given.arrive({ key })
  await given.arrive({ key: `${key} too` })
  return {}
}

async function claimed(given: Given, key: string): Promise<Input> {
  await active(given, key)
  const [event] = await given.store.claimEvents(at(given, key))
  return { entries: [{ id: event!.id, claim: event!.claim }] }
}

async function endsOfClaims({ store }: Given, key: string): Promise<unknown> {
  const { items } = await store.listEvents({ limit: 1000 })
  return items.filter(({ object }) => object.key.startsWith(key)).map(({ claimedUntil }) => claimedUntil)
}

type EventMethod = 'claimEvents' | 'settleEvents' | 'extendClaims' | 'listEvents'

/** The compiler demands every call and every field of it. */
type Examples<Method extends MethodName> = { readonly [Name in Method]: Example<FieldOf<Name>> }

const CALLS: Examples<Exclude<MethodName, EventMethod | 'countEvents'>> = {
  listByScope: {
    prepare: listed,
    others: {
      scope: ANOTHER_SCOPE,
      status: other('active'),
      route: other('route'),
      limit: other(1),
      cursor: async ({ store, scope }) => ({
        cursor: (await store.listByScope({ scope, limit: 1 })).nextCursor,
      }),
      withMetadata: other(false),
      fromPrimary: UNSEEN,
    },
  },
  countByScope: { prepare: listed, others: { scope: ANOTHER_SCOPE, status: other('active') } },
  getScopeUsage: { prepare: listed, others: { scope: ANOTHER_SCOPE } },
  find: { prepare: active, others: { scope: ANOTHER_SCOPE } },
  findActive: { prepare: active, others: { scope: ANOTHER_SCOPE } },
  findPending: {
    prepare: async (given, key) => {
      const { id: _, ...reference } = await reserved(given, key)
      return reference
    },
    others: { scope: ANOTHER_SCOPE, id: ANOTHER_ID, uploadId: other('another') },
  },
  findPendingMultipart: {
    prepare: async (given, key) => ({ ...(await reserved(given, key)), fileSize: 10 }),
    others: { fileSize: other(11) },
  },
  reserve: {
    prepare: async (given, key) => {
      await active(given, key)
      return { ...given.input({ key, declaredSize: 20 }) }
    },
    others: {
      scope: ANOTHER_SCOPE,
      declaredSize: other(21),
      expiresAt: ({ clock }) => ({ expiresAt: clock.in(2 * HOUR) }),
      id: (given) => ({ id: given.newId() }),
      storageKey: other('bytes'),
      uploadId: other('upload'),
      overwrite: other(false),
      quota: other({ maxBytes: 1 }),
      route: other('another'),
      filename: other('another'),
      contentType: other('another'),
      metadata: other({ another: 'one' }),
      async temporarySeconds({ store, at }, { key }) {
        // Where an object stays, the term has no effect.
        await store.remove({ ...at, key: key as string })
        return { temporarySeconds: 60 }
      },
      // Needs a `storageKey`, whose effect would hide that it has none. The cases of `confirm` check it.
      checkSeconds: UNSEEN,
    },
    afterwards: attemptAndObject,
  },
  confirm: {
    prepare: async (given, key) => ({ ...(await reserved(given, key)), size: 11 }),
    others: {
      id: ANOTHER_ID,
      scope: ANOTHER_SCOPE,
      size: other(12),
      eTag: other('tag'),
      contentType: other('a/b'),
      quota: other({ maxBytes: 1 }),
      accept: other(true),
    },
  },
  setUploadId: {
    prepare: async (given, key) => {
      const { id } = await given.reserve({ key })
      return { ...at(given, key), id, uploadId: 'upload' }
    },
    others: { id: ANOTHER_ID, uploadId: other('another') },
  },
  release: {
    prepare: async (given, key) => {
      // A name that differs in nothing but the key, because the result has it.
      await given.arrive({ key, storageKey: `bytes of ${key}` })
      return at(given, key)
    },
    others: {
      id: ANOTHER_ID,
      scope: ANOTHER_SCOPE,
      uploadId: other('another'),
      unlessArrived: other(true),
    },
  },
  remove: {
    prepare: active,
    others: { scope: ANOTHER_SCOPE, attemptId: ANOTHER_ID, mode: other('hard') },
  },
  update: {
    prepare: async (given, key) => ({ ...(await active(given, key)), filename: 'new' }),
    others: {
      scope: ANOTHER_SCOPE,
      attemptId: ANOTHER_ID,
      filename: other('newer'),
      contentType: other('new'),
      metadata: other({ new: 'one' }),
      setMetadata: other({ new: 'one' }),
      eTag: other('new'),
      temporarySeconds: other(60),
    },
  },
  transfer: {
    prepare: async (given, key) => ({ ...(await active(given, key)), from: 'alice', to: 'bob' }),
    others: {
      from: ANOTHER_SCOPE,
      to: other('carol'),
      attemptId: ANOTHER_ID,
      quota: other({ maxBytes: 1 }),
    },
  },
  adopt: {
    prepare: (given, key) =>
      Promise.resolve({
        ...at(given, key),
        scope: given.scope,
        storageKey: `bytes of ${key}`,
        size: 10,
        createdAt: given.clock.in(-HOUR),
      }),
    others: {
      scope: ANOTHER_SCOPE,
      storageKey: (_, { key }) => ({ storageKey: `other bytes of ${key as string}` }),
      size: other(11),
      createdAt: ({ clock }) => ({ createdAt: clock.in(-2 * HOUR) }),
      eTag: other('tag'),
      route: other('route'),
      filename: other('name'),
      contentType: other('a/b'),
      metadata: other({ a: 'b' }),
    },
  },
  keep: {
    async prepare(given, key) {
      const { id } = await given.activate({ key, temporarySeconds: 60 })
      return { scope: given.scope, objects: [{ id }] }
    },
    others: {
      scope: ANOTHER_SCOPE,
      objects: async (given) => {
        const { id } = await given.activate({ key: 'kept instead', temporarySeconds: 60 })
        return { objects: [{ id }] }
      },
    },
    afterwards: ({ store, at }, key) => store.findActive({ ...at, key }),
  },
  listTemporary: {
    prepare: temporary,
    others: {
      scope: ANOTHER_SCOPE,
      before: ({ clock }) => ({ before: clock.in(HOUR) }),
      limit: other(1),
      after: async ({ store }) => ({ after: (await store.listTemporary())[0] }),
    },
  },
  endTemporary: {
    async prepare(given, key) {
      await given.activate({ key, temporarySeconds: 60 })
      given.clock.advance(2 * MINUTE)
      return { objects: [await given.store.findActive({ ...given.at, key })] }
    },
    others: {
      objects: (_, { objects }) => {
        const [object] = objects as [StorageObject]
        return { objects: [{ ...object, temporaryUntil: new Date(object.temporaryUntil!.getTime() + 1) }] }
      },
      keep: (_, { objects }) => ({ keep: [(objects as [StorageObject])[0].id] }),
      mode: other('hard'),
    },
  },
  listArrived: {
    prepare: arrived,
    others: {
      scope: ANOTHER_SCOPE,
      dueBefore: ({ clock }) => ({ dueBefore: clock.in(-HOUR) }),
      limit: other(1),
      after: async ({ store }) => ({ after: (await store.listArrived())[0] }),
    },
  },
  reject: {
    async prepare(given, key) {
      await arrived(given, key)
      const { id } = (await given.store.findPending({ ...given.at, key }))!
      return { ...at(given, key), id }
    },
    others: { id: ANOTHER_ID, scope: ANOTHER_SCOPE, reason: other('a virus') },
    async afterwards(given, key) {
      const leftover = (await given.leftovers()).find((each) => each.key === key)
      const confirm = { ...at(given, key), id: leftover?.attemptId, size: 10 }
      return observeStore(given.store, callWith('confirm', confirm))
    },
  },
  findById: { prepare: reserved, others: { id: ANOTHER_ID, scope: ANOTHER_SCOPE } },
  listScopes: {
    prepare: expired,
    others: { prefix: other('b'), limit: other(1), after: other('alice') },
  },
  listStored: {
    prepare: async (given, key) => ({ ...(await listed(given, key)), bucket: given.at.bucket }),
    others: {
      bucket: ANOTHER_SCOPE,
      prefix: other('z'),
      after: other('z'),
      limit: other(1),
      withMetadata: other(false),
    },
  },
  listExpired: {
    prepare: expired,
    others: {
      scope: other('bob'),
      before: ({ clock }) => ({ before: clock.in(-1) }),
      limit: other(1),
      after: async ({ store }) => ({ after: (await store.listExpired())[0] }),
    },
  },
  purgeExpired: {
    prepare: expired,
    others: {
      scope: other('bob'),
      before: ({ clock }) => ({ before: clock.in(-1) }),
      limit: other(1),
    },
    // Leaves nothing for the next call.
    afterwards: async ({ store }) => void (await store.purgeExpired()),
  },
  listLeftovers: {
    prepare: leftBehind,
    others: {
      scope: ANOTHER_SCOPE,
      dueBefore: ({ clock }) => ({ dueBefore: clock.now() }),
      limit: other(1),
      after: async (given) => ({ after: (await given.leftovers())[0] }),
    },
  },
  deferLeftover: {
    prepare: leftover,
    others: {
      attemptId: ANOTHER_ID,
      until: ({ clock }) => ({ until: clock.in(SECOND) }),
      dueBefore: ({ clock }) => ({ dueBefore: clock.in(-HOUR) }),
      readableUntil: ({ clock }) => ({ readableUntil: clock.in(HOUR) }),
    },
    afterwards: async (given, key) => (await given.leftovers()).filter((item) => item.key.startsWith(key)),
  },
  forgetLeftover: {
    prepare: async (given, key) => ({ attemptId: (await leftover(given, key))['attemptId'] }),
    others: { attemptId: ANOTHER_ID },
  },
  purgeDeleted: {
    prepare: history,
    others: {
      id: async ({ store, scope }) => {
        const { objects } = await store.listByScope({ scope, status: 'deleted' })
        return { id: objects[0]!.id }
      },
      scope: ANOTHER_SCOPE,
      before: ({ clock }) => ({ before: clock.in(-SECOND) }),
      limit: other(1),
    },
    afterwards: async ({ store, clock }) => void (await store.purgeDeleted({ before: clock.now() })),
  },
}

const EVENT_CALLS: Examples<EventMethod> = {
  claimEvents: {
    prepare: async (given, key) => {
      await listed(given, key)
      return {}
    },
    others: {
      claimSeconds: other(1),
      bucket: ({ at }) => ({ ...at, bucket: 'elsewhere' }),
      key: ({ at }) => ({ ...at, key: 'elsewhere' }),
      attempted: other(true),
      limit: other(1),
      // Changes only the order of claims, which another case of `claimEvents` checks.
      lastScopes: UNSEEN,
    },
    async afterwards(given, key) {
      const ends = await endsOfClaims(given, key)
      // Leaves nothing for the next call.
      await given.store.claimEvents()
      return ends
    },
  },
  settleEvents: { prepare: claimed, others: { entries: other([]) } },
  extendClaims: {
    async prepare(given, key) {
      const claims = await claimed(given, key)
      given.clock.advance(1)
      return claims
    },
    others: { entries: other([]), options: other({ claimSeconds: 3600 }) },
    afterwards: endsOfClaims,
  },
  listEvents: {
    prepare: async (given, key) => {
      await listed(given, key)
      return {}
    },
    others: {
      limit: other(1),
      after: async ({ store }) => ({ after: (await store.listEvents({ limit: 1 })).next }),
    },
  },
}

const DATE = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const isRead = (method: MethodName) => /^(find|list|count|get)/.test(method)

/** Checks that the call does something else if this field has its other value. */
async function hasEffect(
  given: Given,
  method: MethodName,
  { prepare, afterwards }: Example<string>,
  [field, change]: readonly [string, Exclude<Other, symbol>],
): Promise<void> {
  /** Returns what the call did, without the key, the ids that it did not choose and the time. */
  const made = async (key: string, input: Input) => {
    const outcome = await observeStore(given.store, callWith(method, input))
    const text = JSON.stringify((await afterwards?.(given, key)) ?? outcome)
    const own = String(input['id'])
    const now = given.clock.now().getTime()
    return text
      .replaceAll(key, 'KEY')
      .replaceAll(UUID, (id) => (id === own ? 'GIVEN' : 'ID'))
      .replaceAll(DATE, (date) => String(Date.parse(date) - now))
  }
  const keys = [`first ${field}`, `${isRead(method) ? 'first' : 'second'} ${field}`]
  const input = await prepare(given, keys[0]!)
  const usual = await made(keys[0]!, input)
  const again = isRead(method) ? input : await prepare(given, keys[1]!)
  const changes = typeof change === 'function' ? await change(given, again) : { [field]: change.value }
  holds(usual !== (await made(keys[1]!, { ...again, ...changes })), `${method} ignores ${field}`)
}

function casesOf(calls: { readonly [Method in MethodName]?: Example<string> }): CaseGroup['cases'] {
  const methods = Object.entries(calls) as [MethodName, Example<string>][]
  return Object.fromEntries(
    methods.map(([method, example]) => [
      `have an effect on ${method}`,
      async (given: Given) => {
        for (const [field, change] of Object.entries<Other>(example.others)) {
          if (change !== UNSEEN) await hasEffect(given, method, example, [field, change])
        }
      },
    ]),
  )
}

export const fieldCases: CaseGroup = { title: 'all fields', cases: casesOf(CALLS) }
export const eventFieldCases: CaseGroup = {
  title: 'all fields of events',
  events: true,
  cases: casesOf(EVENT_CALLS),
}
