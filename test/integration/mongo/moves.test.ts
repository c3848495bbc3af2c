import type { StorageObjectStore } from '@svc/db'
import { mongoAdapter } from '@svc/db/mongo'
import type { Collection, Db, IndexDescriptionInfo, MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installedMongod, startReplicaSet, type ReplicaSet } from '../../servers/mongod.js'
import { attempt, BUCKET } from '../postgres/attempt.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const NOT_MIGRATED =
  'The collections of the adapter are missing, or are not the ones that this version needs: run migrate().'
const UNAUTHORIZED = 'The MongoDB user lacks a privilege that the adapter needs.'
const NO_VERSION = expect.stringMatching(
  /^svc_db_schema in the database test_\w+ has no schema version\. Check the name of the database and collectionPrefix, then run migrate\(\)\.$/,
) as string
const missing = (index: string, collection: string) =>
  `Missing: index ${index} of svc_db_${collection}. Run migrate().`

async function upload(store: StorageObjectStore, key: string, size = 5): Promise<void> {
  await store.reserve({ ...attempt(key), declaredSize: size })
  await store.confirm({ bucket: BUCKET, key, size })
}

/** Calls that need every collection but that of events, and the indexes of some. */
async function callsOfFiles(store: StorageObjectStore, key: string): Promise<void> {
  await upload(store, key)
  await store.listByScope({ scope: 'scope' })
  await store.listLeftovers()
}

async function callsOfAll(store: StorageObjectStore, key: string): Promise<void> {
  await callsOfFiles(store, key)
  await store.countEvents()
}

/** Returns 'work', or the message of the error that calls reject with. */
const outcomeOf = (calls: Promise<void>) =>
  calls.then(
    () => 'work',
    ({ message }: Error) => message,
  )

/** Copies the documents of a collection, with the types that they have, as mongodump and mongorestore do. */
async function copyDocuments(from: Collection, to: Collection): Promise<void> {
  const documents = await from.find({}, { promoteValues: false, promoteLongs: false }).toArray()
  if (documents.length > 0) await to.insertMany(documents)
}

/** Copies the definitions of indexes, without the numbers of their format, which a server chooses. */
async function copyIndexes(from: Collection, to: Collection): Promise<void> {
  const indexes = (await from.listIndexes().toArray()) as IndexDescriptionInfo[]
  const own = indexes.filter(({ name }) => name !== '_id_').map(({ v: _, ...index }) => index)
  if (own.length > 0) await to.createIndexes(own)
}

interface Restore {
  readonly only?: (collection: string) => boolean
  readonly indexes?: boolean
  readonly prefix?: string
}

/** Restores collections in an empty database. */
async function restore(
  from: Db,
  to: Db,
  { only = () => true, indexes = true, prefix = 'svc_db_' }: Restore = {},
): Promise<void> {
  for (const { name } of await from.listCollections({}, { nameOnly: true }).toArray()) {
    if (!only(name)) continue
    const target = await to.createCollection(name.replace('svc_db_', prefix))
    await copyDocuments(from.collection(name), target)
    if (indexes) await copyIndexes(from.collection(name), target)
  }
}

interface Move {
  readonly title: string
  /** How a dump is restored in an empty database. Default: all of it. `null`: not at all. */
  readonly dump?: Restore | null
  /** What happens to the database then. */
  readonly after?: (to: Db, from: Db) => Promise<unknown>
  readonly prefix?: string
  /** The outcome of calls before anything is mended. Default: they work. */
  readonly calls?: string
  /** What `verify()` returns before. Default: nothing. */
  readonly findings?: unknown
  /** Whether the objects were left behind. */
  readonly isEmpty?: boolean
  /** The sizes that the events of an object report in the end. Those of 1 and 2 waited. Default: all, so 1, 2 and 3. */
  readonly events?: readonly number[]
  /** Whether sums are wrong until `repairUsage()`. */
  readonly isMiscounted?: boolean
  /** The index that the operator has to drop first, as the error of `migrate()` says. */
  readonly drops?: string
}

const MOVES: Move[] = [
  { title: 'a dump of everything' },
  {
    title: 'a dump of the documents, without indexes',
    dump: { indexes: false },
    calls: NOT_MIGRATED,
    findings: expect.arrayContaining([
      missing('active_by_id', 'objects'),
      missing('by_key', 'history'),
      missing('ripe', 'events'),
    ]),
  },
  {
    title: 'a dump into migrated collections, whose version mongorestore does not replace',
    dump: null,
    async after(to, from) {
      await mongoAdapter(to).migrate()
      for (const { name } of await from.listCollections().toArray()) {
        if (name === 'svc_db_schema') continue
        await copyDocuments(from.collection(name), to.collection(name))
        await copyIndexes(from.collection(name), to.collection(name))
      }
    },
    events: [1, 2],
  },
  {
    title: 'a dump of the collection of objects alone',
    dump: { only: (name) => name === 'svc_db_objects' },
    calls: NOT_MIGRATED,
    findings: [NO_VERSION],
    events: [],
  },
  {
    title: 'a dump without the collection of versions',
    dump: { only: (name) => name !== 'svc_db_schema' },
    calls: NOT_MIGRATED,
    findings: [NO_VERSION],
  },
  {
    title: 'a dump whose sums of scopes are lost',
    after: (to) => to.collection<{ _id: string }>('svc_db_objects').deleteOne({ _id: 'scope' }),
    isMiscounted: true,
  },
  {
    title: 'a dump of several moments, with objects whose oldest event or only events are lost',
    async after(to) {
      await to.collection('svc_db_events').deleteOne({ at: 'bucket\0kept', 'object.size': 1 })
      await to.collection('svc_db_events').deleteMany({ at: 'bucket\0removed' })
    },
    events: [2, 3],
  },
  {
    title: 'a dump with the version of an earlier release',
    after: (to) => to.collection('svc_db_schema').updateOne({}, { $set: { version: 1, minCompatible: 1 } }),
    calls: NOT_MIGRATED,
    findings: ['svc_db_schema has schema version 1, but this code needs version 2. Run migrate().'],
  },
  {
    title: 'collections with another prefix',
    dump: { prefix: 'moved_' },
    prefix: 'moved_',
  },
  {
    title: 'renamed collections',
    async after(to) {
      for (const { name } of await to.listCollections().toArray()) {
        await to.renameCollection(name, name.replace('svc_db_', 'moved_'))
      }
    },
    prefix: 'moved_',
  },
  {
    title: 'renamed collections, whose prefix the store is not told',
    dump: { prefix: 'moved_' },
    calls: NOT_MIGRATED,
    findings: [NO_VERSION],
    isEmpty: true,
    events: [],
  },
  {
    title: 'deleteMany on all collections',
    async after(to) {
      for (const collection of await to.collections()) await collection.deleteMany({})
    },
    calls: NOT_MIGRATED,
    findings: [NO_VERSION],
    isEmpty: true,
    events: [3],
  },
  {
    title: 'deleteMany on all collections but the version',
    async after(to) {
      for (const collection of await to.collections()) {
        if (collection.collectionName !== 'svc_db_schema') await collection.deleteMany({})
      }
    },
    isEmpty: true,
    events: [3],
  },
  {
    title: 'the loss of all collections',
    dump: null,
    calls: NOT_MIGRATED,
    findings: [NO_VERSION],
    isEmpty: true,
    events: [],
  },
  {
    title: 'a dropped collection',
    after: (to) => to.collection('svc_db_events').drop(),
    calls: NOT_MIGRATED,
    findings: [missing('ripe', 'events'), missing('by_queue', 'events')],
    events: [3],
  },
  {
    title: 'a dropped index',
    after: (to) => to.collection('svc_db_leftovers').dropIndex('by_age'),
    calls: NOT_MIGRATED,
    findings: [missing('by_age', 'leftovers')],
  },
  {
    title: 'a dropped index of events that still wait, but are off',
    async after(to) {
      await to.collection('svc_db_schema').updateOne({}, { $set: { events: false } })
      await to.collection('svc_db_events').dropIndex('ripe')
    },
    calls: NOT_MIGRATED,
    // A user without privileges on events that are off can't look, so verify() finds nothing.
    events: [1, 2],
  },
  {
    title: 'an index with another definition',
    async after(to) {
      await to.collection('svc_db_leftovers').dropIndex('by_age')
      await to.collection('svc_db_leftovers').createIndex({ since: 1 }, { name: 'by_age' })
    },
    findings: [
      'Differs: index of svc_db_leftovers must be by_age {"key":{"since":1,"_id":1}} (found by_age {"key":{"since":1}}). Drop it and run migrate().',
    ],
    drops: 'by_age',
  },
]

describeMongo('collections that were moved', (url) => {
  const client = clientOf(url)
  const source = freshDatabase(client)
  beforeAll(async () => {
    const store = mongoAdapter(source, { events: true })
    await store.migrate()
    for (const size of [1, 2]) await upload(store, 'kept', size)
    await upload(store, 'removed')
    await store.remove({ bucket: BUCKET, key: 'removed' })
    await store.reserve(attempt('pending'))
  })
  afterAll(async () => {
    await source.dropDatabase()
    await client.close()
  })

  it.each(MOVES)('by $title are told by verify() and mended by migrate()', async (given) => {
    const { prefix = 'svc_db_', calls = 'work', findings = [], drops } = given
    const { isEmpty = false, events = [1, 2, 3], isMiscounted = false } = given
    const target = freshDatabase(client)
    if (given.dump !== null) await restore(source, target, given.dump)
    await given.after?.(target, source)
    const store = mongoAdapter(target, { collectionPrefix: prefix })
    expect(await store.verify()).toEqual(findings)
    expect(await outcomeOf(callsOfAll(store, 'before'))).toBe(calls)

    if (drops !== undefined) {
      await expect(store.migrate()).rejects.toThrow((await store.verify())[0])
      await target.collection('svc_db_leftovers').dropIndex(drops)
    }
    await Promise.all([store.migrate(), store.migrate(), store.migrate()])
    expect(await store.verify()).toEqual([])
    expect(await outcomeOf(callsOfAll(store, 'after'))).toBe('work')
    const kept = await store.findActive({ bucket: BUCKET, key: 'kept' })
    expect(kept?.size).toBe(isEmpty ? undefined : 2)
    expect(await store.checkUsage()).toHaveLength(isMiscounted ? 1 : 0)
    await store.repairUsage()
    expect(await store.checkUsage()).toEqual([])
    const deleted = await store.listByScope({ scope: 'scope', status: 'deleted' })
    expect(await store.countByScope('scope', 'deleted')).toBe(deleted.objects.length)

    await upload(store, 'kept', 3)
    const delivered = await deliver(store)
    expect(delivered.get('kept') ?? []).toEqual(events)
    expect(await store.countEvents()).toMatchObject({ waiting: 0 })
    await target.dropDatabase()
  })

  it('to an earlier time deliver the events of that time again, then newer ones', async () => {
    const target = freshDatabase(client)
    await restore(source, target)
    const running = mongoAdapter(target)
    await upload(running, 'kept', 3)
    const lost = await running.claimEvents({ limit: 100 })
    await target.dropDatabase()
    await restore(source, target)

    expect(await running.settleEvents(lost)).toEqual([])
    await upload(running, 'kept', 4)
    expect((await deliver(running)).get('kept')).toEqual([1, 2, 4])
    expect(await running.verify()).toEqual([])
    await target.dropDatabase()
  })
})

/** Delivers all events, and returns the sizes that those of each key report, in order. */
async function deliver(store: StorageObjectStore): Promise<Map<string, (number | null)[]>> {
  const delivered = new Map<string, (number | null)[]>()
  for (;;) {
    const events = await store.claimEvents({ limit: 100 })
    if (events.length === 0) return delivered
    for (const { object } of events) {
      delivered.set(object.key, [...(delivered.get(object.key) ?? []), object.size])
    }
    await store.settleEvents(events)
  }
}

describe.skipIf(installedMongod() === null)('the users of collections', () => {
  let set: ReplicaSet
  let admin: MongoClient
  beforeAll(async () => {
    set = await startReplicaSet(installedMongod()!, { members: 1, durable: false, signIn: true })
    const first = clientOf(set.url)
    await first.db('admin').command({ createUser: 'admin', pwd: 'password', roles: ['root'] })
    await first.close()
    admin = clientOf(urlOf('admin', 'admin'))
    await mongoAdapter(admin.db('files')).migrate()
  })
  afterAll(async () => {
    await admin.close()
    await set.remove()
  })

  function urlOf(database: string, user: string): string {
    const url = new URL(set.url)
    ;[url.pathname, url.username, url.password] = [`/${database}`, user, 'password']
    return url.href
  }

  const lacks = (action: string, collection: string) =>
    `Missing: the ${action} privilege of this user on svc_db_${collection}.`
  const on = (collection: string, ...actions: string[]) => ({
    resource: { db: 'files', collection: collection && `svc_db_${collection}` },
    actions,
  })
  const DATA = ['find', 'listIndexes', 'insert', 'update', 'remove']
  const READS = [on('schema', 'find', 'listIndexes'), on('', 'listCollections')]

  it.each([
    {
      title: 'may do everything, on every database',
      roles: [{ role: 'root', db: 'admin' }],
      calls: 'work',
      findings: [],
      migrates: true,
    },
    {
      title: 'may read and write the database',
      roles: ['readWrite'],
      calls: 'work',
      findings: [],
      migrates: true,
    },
    {
      title: 'may not create indexes',
      privileges: [...READS, ...['objects', 'history', 'leftovers'].map((name) => on(name, ...DATA))],
      calls: 'work',
      findings: [],
    },
    {
      title: 'only reads',
      roles: ['read'],
      calls: UNAUTHORIZED,
      findings: ['objects', 'history', 'leftovers'].flatMap((name) =>
        ['insert', 'update', 'remove'].map((action) => lacks(action, name)),
      ),
    },
    {
      title: 'may not use one of the collections',
      privileges: [...READS, ...['objects', 'history'].map((name) => on(name, ...DATA))],
      calls: UNAUTHORIZED,
      findings: DATA.map((action) => lacks(action, 'leftovers')),
    },
    {
      title: 'may use another database',
      roles: [{ role: 'readWrite', db: 'others' }],
      calls: UNAUTHORIZED,
      findings: expect.arrayContaining([
        lacks('find', 'schema'),
        'Missing: the listCollections privilege of this user on the database files.',
      ]) as string[],
    },
  ])('are told by verify() of one who $title', async ({ roles, privileges, calls, findings, migrates }) => {
    const db = admin.db('files')
    if (privileges) await db.command({ createRole: 'own', privileges, roles: [] })
    await db.command({ createUser: 'app', pwd: 'password', roles: roles ?? ['own'] })
    const client = clientOf(urlOf('files', 'app'))
    try {
      const store = mongoAdapter(client.db())
      expect(await store.verify()).toEqual(findings)
      expect(await outcomeOf(callsOfFiles(store, 'a'))).toBe(calls)
      if (migrates) expect(await store.migrate()).toEqual({ from: 2, to: 2 })
      else await expect(store.migrate()).rejects.toThrow(UNAUTHORIZED)
    } finally {
      await client.close()
      await db.command({ dropUser: 'app' })
      if (privileges) await db.command({ dropRole: 'own' })
    }
  })

  it('are not asked for privileges on events that are off', async () => {
    const db = admin.db('files')
    await mongoAdapter(db, { events: true }).migrate()
    const privileges = [...READS, ...['objects', 'history', 'leftovers'].map((name) => on(name, ...DATA))]
    await db.command({ createRole: 'own', privileges, roles: [] })
    await db.command({ createUser: 'app', pwd: 'password', roles: ['own'] })
    const client = clientOf(urlOf('files', 'app'))
    try {
      expect(await mongoAdapter(client.db()).verify()).toEqual(DATA.map((action) => lacks(action, 'events')))
      await mongoAdapter(db, { events: false }).migrate()
      expect(await mongoAdapter(client.db()).verify()).toEqual([])
    } finally {
      await client.close()
    }
  })
})
