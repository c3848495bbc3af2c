import { inspect } from 'node:util'
import { createAttemptId, type Leftover, type StorageObject, type StorageObjectStore } from '@svc/db'
import type { Db, Document } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { everyCall } from '../postgres/every-call.js'
import { describeMongo, freshDatabase } from './databases.js'
import { watchedClient, type WireCommand } from './watched-client.js'

const ROWS = 1500
const PAGE = 50
const PORTION = 100
const MANY_SCOPES = 160
/** Number of active objects in a bucket whose names are storage keys, and in one whose names are keys. */
const NAMES = 300
/** With those of pending replacements. */
const NAMES_OF_BUCKET = 1.5 * NAMES
const ENDS = 'scope of objects with an end'
/** Number of objects with an end, of arrived attempts and of rejections. */
const ENDED = 130
const LAST = new Date('2100-01-01')
const EXPLAINED = new Set(['find', 'aggregate', 'update', 'delete', 'findAndModify'])
/** Fields of the session and the response, which explain doesn't accept. */
const NOT_EXPLAINED = new Set([
  'lsid',
  'txnNumber',
  'startTransaction',
  'autocommit',
  '$clusterTime',
  '$db',
  'writeConcern',
  'readConcern',
  'cursor',
])

describeMongo('query plans', (url) => {
  const watched = watchedClient(url)
  const { client } = watched
  const take = () => watched.take()
  const db = freshDatabase(client)
  const store = mongoAdapter(db)
  beforeAll(() => fill(store))
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  describe('scan no collection and sort nothing in memory', () => {
    for (const { name, prepare, call } of everyCall('one of the calls', () => new Date())) {
      it(name, async () => {
        await prepare?.(store)
        take()
        await call(store)
        for (const command of take()) await expectIndexes(db, command)
      })
    }

    it.each([null, 'full'])('checkUsage, repairUsage of scope %s', async (scope) => {
      await db
        .collection<{ _id: string }>('svc_db_objects')
        .updateOne({ _id: 'full' }, { $inc: { bytes: 1 } })
      expect(await store.checkUsage('full')).toHaveLength(1)
      take()
      expect(await store.repairUsage(scope)).toHaveLength(1)
      const commands = take()
      // The recount of all scopes reads all documents.
      for (const command of scope === null ? commands.slice(1) : commands) await expectIndexes(db, command)
      expect(await store.checkUsage()).toEqual([])
    })
  })

  describe('examine as many index keys as the page has rows, at any depth', () => {
    const pages = [
      ['active', { status: 'active' }],
      ['pending', { status: 'pending' }],
      ['deleted', { status: 'deleted' }],
      ['active of a route', { status: 'active', route: 'rare' }],
      ['pending of a route', { status: 'pending', route: 'rare' }],
      ['deleted of a route', { status: 'deleted', route: 'rare' }],
      ['live', {}],
      ['live of a route', { route: 'rare' }],
    ] as const
    it.each(pages)('%s', async (_, filter) => {
      let cursor: string | undefined
      let rows = 0
      do {
        take()
        const page = await store.listByScope({ scope: 'full', ...filter, limit: PAGE, cursor })
        const commands = take()
        // A page of live rows with many pending ones is read twice.
        expect(commands.length).toBeLessThanOrEqual('status' in filter ? 1 : 2)
        // One more row tells whether there is a next page. Active and pending rows are two ranges, and each may fill
        // the page.
        const limit = (PAGE + 1) * ('status' in filter ? 1 : 2)
        for (const command of commands) expect(await keysExamined(db, command)).toBeLessThanOrEqual(limit)
        rows += page.objects.length
        cursor = page.nextCursor
      } while (cursor !== undefined)
      expect(rows).toBeGreaterThan('route' in filter ? 10 : ROWS / 4)
    })

    it.each(['full', undefined])('expired, of scope %s', async (scope) => {
      const later = mongoAdapter(db, { now: () => new Date(Date.now() + 10 * 3_600_000) })
      await later.ping()
      await later.getScopeUsage('full')
      let after: StorageObject | undefined
      let rows = 0
      for (;;) {
        take()
        const page = await later.listExpired({ scope, limit: PAGE, after })
        const [command] = take()
        // Merging two ranges reads one more key of each.
        expect(await keysExamined(db, command!)).toBeLessThanOrEqual(PAGE + 2)
        rows += page.length
        after = page.at(-1)
        if (page.length < PAGE) break
      }
      expect(rows).toBeGreaterThan(ROWS / 4)
    })

    it.each([ENDS, undefined])('temporary objects, of scope %s', async (scope) => {
      await expectCheapPages(ENDED, (after) =>
        store.listTemporary({ scope, before: LAST, limit: PAGE, after }),
      )
    })

    it.each([ENDS, undefined])('arrived attempts, of scope %s', async (scope) => {
      await expectCheapPages(ENDED, (after) => store.listArrived({ scope, limit: PAGE, after }))
    })

    async function expectCheapPages(
      all: number,
      list: (after?: StorageObject) => Promise<StorageObject[]>,
    ): Promise<void> {
      const keys = new Set<string>()
      let after: StorageObject | undefined
      do {
        take()
        const page = await list(after)
        const [command] = take()
        await expectIndexes(db, command!)
        expect(await keysExamined(db, command!)).toBeLessThanOrEqual(PAGE + 2)
        // Other tests have left some, in other scopes.
        for (const { key, scope } of page) if (scope === ENDS) keys.add(key)
        after = page.length < PAGE ? undefined : page.at(-1)
      } while (after !== undefined)
      expect(keys.size).toBe(all)
    }

    it('expired reservations of a scope with arrived attempts: none', async () => {
      const later = mongoAdapter(db, { now: () => LAST })
      await later.getScopeUsage(ENDS)
      take()
      expect(await later.listExpired({ scope: ENDS })).toEqual([])
      expect(await keysExamined(db, take()[0]!)).toBe(0)
    })

    it('objects to keep: only those', async () => {
      const objects = await store.listTemporary({ scope: ENDS, before: LAST, limit: 10 })
      const ids = objects.map(({ id, attemptId }, i) => (i % 2 ? id : attemptId))
      take()
      const keeping = store.keep({ scope: ENDS, objects: [...ids, createAttemptId()].map((id) => ({ id })) })
      await expect(keeping).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND', params: { missing: '10' } })
      const [command] = take()
      await expectIndexes(db, command!)
      const { keys, documents } = await examined(db, command!)
      expect(documents).toBe(ids.length)
      // Each id is looked up in three indexes, with up to two keys in each.
      expect(keys).toBeLessThanOrEqual(3 * 2 * (ids.length + 1))
    })

    it('rejections to forget: only these', async () => {
      for (const scope of [ENDS, undefined]) {
        take()
        await store.purgeDeleted({ scope, before: new Date('2000-01-01') })
        for (const command of take()) {
          await expectIndexes(db, command)
          expect(await keysExamined(db, command)).toBeLessThanOrEqual(1)
        }
      }
    })

    it('a row by its id: one key for each index', async () => {
      const { objects } = await store.listByScope({ scope: 'full', limit: 500 })
      for (const { id, status } of [objects.at(-1)!, objects.find((row) => row.status === 'pending')!]) {
        for (const scope of [undefined, 'full']) {
          take()
          expect(await store.findById({ id, scope })).toMatchObject({ id, status })
          expect(await keysExamined(db, take()[0]!)).toBeLessThanOrEqual(3)
        }
      }
    })

    it('leftovers', async () => {
      const first = await store.listLeftovers({ limit: PAGE })
      take()
      expect(await store.listLeftovers({ limit: PAGE, after: first.at(-1) })).toHaveLength(PAGE)
      expect(await keysExamined(db, take()[0]!)).toBeLessThanOrEqual(PAGE + 2)
    })

    it.each(['full', undefined])('due leftovers, of scope %s', async (scope) => {
      const now = new Date()
      for (const leftover of await store.listLeftovers({ scope, limit: 3 * PAGE })) {
        const until = new Date(now.getTime() + (Number(leftover.storageKey!.at(-1)) % 2 ? -1 : 3_600_000))
        await store.deferLeftover({ attemptId: leftover.attemptId, until })
      }
      let after: Leftover | undefined
      let rows = 0
      for (;;) {
        take()
        const page = await store.listLeftovers({ scope, dueBefore: now, limit: PAGE, after })
        expect(await keysExamined(db, take()[0]!)).toBeLessThanOrEqual(PAGE + 3)
        rows += page.length
        after = page.at(-1)
        if (page.length < PAGE) break
      }
      expect(rows).toBeGreaterThan(PAGE)
    })
  })

  describe('of events are as cheap with many waiting ones:', () => {
    const eventsDb = freshDatabase(client)
    const later = new Date(Date.now() + 3_600_000)
    const events = mongoAdapter(eventsDb, { events: true })
    const waiting = mongoAdapter(eventsDb, { now: () => later })
    const LIMIT = 20
    /** Keys per claimed event: one of its queue, and two to find the oldest of the queue. */
    const KEYS = 3
    beforeAll(async () => {
      await events.migrate()
      for (let i = 0; i < 200; i++) await activate(events, 'one of many events')
      await inPortions(500, (i) => activate(events, `key ${i}`))
    })
    afterAll(() => eventsDb.dropDatabase())

    async function activate(store: StorageObjectStore, key: string): Promise<void> {
      const attempt = { scope: 'scope', bucket: 'bucket', key, declaredSize: 1, overwrite: true }
      const { id } = await store.reserve({ ...attempt, expiresAt: later })
      await store.confirm({ bucket: 'bucket', key, id, size: 1 })
    }

    it('claiming, extending and settling', async () => {
      await waiting.countEvents()
      take()
      const claimed = await waiting.claimEvents({ limit: LIMIT })
      expect(claimed).toHaveLength(LIMIT)
      await waiting.extendClaims(claimed)
      const retryAt = later
      await waiting.settleEvents(
        claimed.map(({ id, claim }, i) => ({ id, claim, ...(i === 9 && { retryAt }) })),
      )
      const [{ id, claim } = { id: '', claim: '' }] = await waiting.claimEvents({
        bucket: 'bucket',
        key: 'key 400',
      })
      await waiting.settleEvents([{ id, claim }])
      const commands = take()
      expect(await keysExamined(eventsDb, commands[0]!)).toBeLessThanOrEqual(KEYS * LIMIT)
      // The plan of a claim repeats the pipeline of its look-up, which has a sort.
      for (const command of commands) {
        if (command.name !== 'aggregate') await expectIndexes(eventsDb, command)
      }
      const writes = commands.filter(({ name }) => name === 'update' || name === 'delete')
      for (const command of writes.flatMap(singleStatements)) {
        expect(await keysExamined(eventsDb, command)).toBeLessThanOrEqual(2 * LIMIT)
      }
    })

    it('claiming when everything is claimed', async () => {
      while ((await waiting.claimEvents({ limit: 1000 })).length > 0);
      take()
      expect(await waiting.claimEvents()).toEqual([])
      expect(await keysExamined(eventsDb, take()[0]!)).toBeLessThanOrEqual(1)
    })

    it('a page at any depth', async () => {
      let after: string | undefined
      let rows = 0
      do {
        take()
        const page = await waiting.listEvents({ limit: PAGE, after })
        const [command] = take()
        await expectIndexes(eventsDb, command!)
        // Each event has its own key and that of its queue.
        expect(await keysExamined(eventsDb, command!)).toBeLessThanOrEqual(2 * (PAGE + 1))
        rows += page.items.length
        after = page.next ?? undefined
      } while (after !== undefined)
      expect(rows).toBeGreaterThan(500)
    })
  })

  describe('examine as many keys and documents as the page has', () => {
    const store = mongoAdapter(db, { collectionPrefix: 'names.' })
    beforeAll(() => fillNames(store))

    it.each([undefined, 'scope 1', 'scope 19', 'no scope', 'z'])('scopes, with prefix %s', async (prefix) => {
      let after: string | undefined
      let scopes = 0
      for (;;) {
        take()
        const page = await store.listScopes({ ...(prefix !== undefined && { prefix }), limit: PAGE, after })
        const { keys, documents } = await examined(db, take()[0]!)
        expect(documents).toBe(page.length)
        // The first key behind a prefix ends its range.
        expect(keys).toBeLessThanOrEqual(page.length + (prefix === undefined ? 0 : 1))
        scopes += page.length
        after = page.at(-1)?.scope
        if (page.length < PAGE) break
      }
      const all = Array.from({ length: MANY_SCOPES }, (_, i) => `scope ${i}`)
      expect(scopes).toBe(all.filter((scope) => scope.startsWith(prefix ?? '')).length)
    })

    for (const { bucket } of BUCKETS) {
      it.each([undefined, 'stored 1', 'with 1'])(`${bucket}, with prefix %s`, async (prefix) => {
        let after: string | undefined
        let [names, keys, pages] = [0, 0, 0]
        do {
          take()
          const page = await store.listStored({ bucket, prefix, limit: PAGE, after })
          const commands = take()
          const plans = await Promise.all(commands.map((command) => examined(db, command)))
          // Of active and of pending rows, one more tells whether the next has the same name.
          expect(sumBy(plans, 'documents')).toBeLessThanOrEqual(2 * (PAGE + 1))
          // The storage keys of the other bucket are in the same order, so a page passes those between its names, and all
          // pages together pass each of them once. Each range ends with a key that doesn't match.
          keys += sumBy(plans, 'keys')
          pages++
          names += page.length
          after = page.at(-1)?.storageKey
        } while (after !== undefined)
        expect(keys).toBeLessThanOrEqual(pages * (2 * (PAGE + 1) + 12) + NAMES_OF_BUCKET)
        const isEmpty = prefix !== undefined && prefix.startsWith('stored') !== bucket.includes('storage')
        const withPrefix = Array.from({ length: NAMES }, (_, i) => `${i}`).filter(
          (i) => !prefix || i.startsWith('1'),
        )
        const pending = withPrefix.filter((i) => Number(i) % 2)
        expect(names).toBe(isEmpty ? 0 : withPrefix.length + pending.length)
      })
    }
  })
})

const at = (key: string) => ({ bucket: 'objects', key })

function reserve(store: StorageObjectStore, key: string, more: object = {}) {
  const input = { scope: 'owner', ...at(key), declaredSize: 5, expiresAt: new Date(Date.now() + 3_600_000) }
  return store.reserve({ ...input, storageKey: createAttemptId(), ...more })
}

async function activate(store: StorageObjectStore, key: string, more: object = {}) {
  await reserve(store, key, more)
  return store.confirm({ ...at(key), size: 5, ...more })
}

/** Writes for each of these numbers, some at once: on a busy machine, all at once would wait for longer than a call may take. */
async function inPortions(count: number, write: (i: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += PORTION) {
    await Promise.all(Array.from({ length: Math.min(PORTION, count - from) }, (_, i) => write(from + i)))
  }
}

/** Creates keys that are active, being replaced or removed, many of them with the same expiry. */
async function fill(store: StorageObjectStore): Promise<void> {
  await store.migrate()
  const expiresAt = new Date(Date.now() + 3_600_000)
  const reserve = (key: string, i: number) =>
    store.reserve({
      scope: 'full',
      bucket: 'bucket',
      key,
      declaredSize: i,
      expiresAt: new Date(expiresAt.getTime() + (i % 3)),
      route: i % 37 === 0 ? 'rare' : 'common',
      storageKey: createAttemptId(),
    })
  await inPortions(ROWS, async (i) => {
    const key = `key ${i}`
    await reserve(key, i)
    await store.confirm({ bucket: 'bucket', key, size: i, scope: 'full' })
    if (i % 2 === 0) await store.remove({ bucket: 'bucket', key, scope: 'full' })
    if (i % 4 < 2) await reserve(key, i)
  })
  await fillEnds(store)
}

/** Creates objects with an end, half of them replaced, arrived attempts, and rejections. */
async function fillEnds(store: StorageObjectStore): Promise<void> {
  const upload = async (key: string, terms: object) => {
    const { id } = await reserve(store, key, { scope: ENDS, ...terms })
    return store.confirm({ ...at(key), id, scope: ENDS, size: 5 })
  }
  await inPortions(ENDED, async (i) => {
    // Many have the same date.
    const seconds = 3600 + (i % 3)
    await upload(`temporary ${i}`, { temporarySeconds: seconds })
    if (i % 2) await upload(`temporary ${i}`, { temporarySeconds: seconds })
    await upload(`arrived ${i}`, { checkSeconds: seconds })
    await store.reject(await upload(`rejected ${i}`, { checkSeconds: seconds }))
  })
}

const BUCKETS = [
  { bucket: 'names by storage key', storageKey: (name: string) => `stored ${name}` },
  { bucket: 'names by key', storageKey: () => null },
] as const

/** Creates objects in several scopes and two buckets, half of which are being replaced. */
async function fillNames(store: StorageObjectStore): Promise<void> {
  await store.migrate()
  await inPortions(NAMES, async (i) => {
    for (const { bucket, storageKey } of BUCKETS) {
      const named = { bucket, key: `with ${i}`, scope: `scope ${i % MANY_SCOPES}` }
      await activate(store, named.key, { ...named, storageKey: storageKey(`${i}`) })
      if (i % 2) await reserve(store, named.key, { ...named, storageKey: storageKey(`${i} again`) })
    }
  })
}

async function explain(db: Db, { name, command }: WireCommand): Promise<Document> {
  const explained = Object.fromEntries(Object.entries(command).filter(([field]) => !NOT_EXPLAINED.has(field)))
  const statement = name === 'aggregate' ? { ...explained, cursor: {} } : explained
  return db.command({ explain: statement, verbosity: 'executionStats' })
}

async function expectIndexes(db: Db, command: WireCommand): Promise<void> {
  if (!EXPLAINED.has(command.name)) return
  for (const single of singleStatements(command)) {
    const stages = stagesOf(await explain(db, single))
    expect(stages, inspect(single.command)).not.toContain('COLLSCAN')
    expect(stages, inspect(single.command)).not.toContain('SORT')
    expect(stages, inspect(single.command)).not.toContain('$sort')
    expect(stages.filter((stage) => /^(IXSCAN|IDHACK|\$lookup)$/.test(stage))).not.toEqual([])
  }
}

/** Splits an update or delete, because explain accepts a single statement only. */
function singleStatements({ name, command }: WireCommand): WireCommand[] {
  const field = { update: 'updates', delete: 'deletes' }[name]
  if (field === undefined) return [{ name, command }]
  return (command[field] as unknown[]).map((statement) => ({
    name,
    command: { ...command, [field]: [statement] },
  }))
}

/** Returns the names of all stages of a plan, at any depth. */
function stagesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(stagesOf)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([field, inner]) => {
    // The response repeats the command, which is not part of the plan.
    if (field === 'command' || field === 'rejectedPlans') return []
    if (field === 'stage' && typeof inner === 'string') return [inner]
    return [...(field.startsWith('$') ? [field] : []), ...stagesOf(inner)]
  })
}

async function examined(db: Db, command: WireCommand): Promise<{ keys: number; documents: number }> {
  const plan = await explain(db, command)
  return { keys: sumOf(plan, 'totalKeysExamined'), documents: sumOf(plan, 'totalDocsExamined') }
}

function sumBy<Name extends string>(values: readonly Record<Name, number>[], name: Name): number {
  return values.reduce((sum, value) => sum + value[name], 0)
}

async function keysExamined(db: Db, command: WireCommand): Promise<number> {
  return sumOf(await explain(db, command), 'totalKeysExamined')
}

function sumOf(value: unknown, name: string): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, inner) => sum + sumOf(inner, name), 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce(
    (sum, [field, inner]) => sum + (field === name ? Number(inner) : sumOf(inner, name)),
    0,
  )
}
