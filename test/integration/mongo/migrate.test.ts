import { createAttemptId } from '@svc/db'
import type { Db, IndexDescription } from 'mongodb'
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { SCHEMA_VERSION } from '../../../src/adapters/mongo/schema/version.js'
import { installedMongod, startStandalone } from '../../servers/mongod.js'
import { everyCall } from '../postgres/every-call.js'
import { clientOf, describeMongo, DRIVERS, freshDatabase } from './databases.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

/** The indexes of version 2 that version 1 lacks. */
const ADDED_INDEXES = {
  svc_db_objects: [
    ...['active_by_own_id', 'pending_by_own_id', 'active_by_storage', 'pending_by_storage'],
    ...['temporary_by_end', 'temporary_of_scope_by_end'],
    ...['active_by_attempt', 'rejections_by_age'],
    'scopes',
  ],
  svc_db_history: ['by_scope_deletion'],
  svc_db_leftovers: ['by_due', 'by_scope', 'by_storage', 'by_scope_due'],
}
const UNAVAILABLE = { name: 'StorageError', code: 'DATABASE_UNAVAILABLE', retryable: false }

describeMongo('the schema in MongoDB', (url) => {
  const client = clientOf(url)
  let db: Db
  beforeEach(() => {
    db = freshDatabase(client)
  })
  afterEach(() => db.dropDatabase())
  afterAll(() => client.close())

  it('must be migrated before use, and is not created by other calls', async () => {
    for (const { name, call } of everyCall('scope', () => new Date())) {
      if (name === 'ping' || name.endsWith('refused')) continue
      await expect(call(mongoAdapter(db)), name).rejects.toThrow('migrate()')
    }
    expect(await db.listCollections().toArray()).toEqual([])
  })

  it('can be migrated by many processes at once, with both drivers', async () => {
    const stores = Array.from({ length: 16 }, (_, i) => {
      const other = new DRIVERS[i % 2 ? 7 : 6](url)
      onTestFinished(() => other.close())
      return mongoAdapter(other.db(db.databaseName))
    })
    const results = await Promise.all(stores.map((store) => store.migrate()))
    expect(new Set(results.map(({ to }) => to))).toEqual(new Set([SCHEMA_VERSION]))
    expect(await stores[0]!.verify()).toEqual([])
  })

  it('gets dropped indexes and collections back from migrate()', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    await db.collection('svc_db_history').dropIndex('by_key')
    await db.collection('svc_db_leftovers').drop()
    expect(await store.verify()).toEqual([
      'Missing: index by_key of svc_db_history. Run migrate().',
      ...['by_age', 'by_due', 'by_scope', 'by_storage', 'by_scope_due'].map(
        (index) => `Missing: index ${index} of svc_db_leftovers. Run migrate().`,
      ),
    ])
    await store.migrate()
    expect(await store.verify()).toEqual([])
  })

  it('upgrades collections of version 1, whose leftovers have no scope and were never put off', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    const at = { bucket: 'bucket', key: 'key' }
    const adopted = { ...at, scope: 'scope', storageKey: 'bytes', size: 5, createdAt: new Date() }
    const { object } = await store.adopt(adopted)
    const leftovers = db.collection<{ _id: string }>('svc_db_leftovers')
    for (const [collection, indexes] of Object.entries(ADDED_INDEXES)) {
      for (const index of indexes) await db.collection(collection).dropIndex(index)
    }
    const version = { version: 1, minCompatible: 1 }
    await db.collection<{ _id: string }>('svc_db_schema').updateOne({ _id: 'version' }, { $set: version })
    const attemptId = createAttemptId()
    const date = new Date(2020, 0)
    const document = { at: 'bucket\0old', storageKey: 'old', since: date, writableUntil: date }
    await leftovers.insertOne({ _id: attemptId, ...document })

    const upgrading = mongoAdapter(db)
    await expect(upgrading.listLeftovers()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await upgrading.migrate()).toEqual({ from: 1, to: SCHEMA_VERSION })
    expect(await upgrading.verify()).toEqual([])
    const old = { attemptId, scope: null, dueAt: null, key: 'old', storageKey: 'old' }
    expect(await upgrading.listLeftovers({ dueBefore: date })).toMatchObject([old])
    expect(await upgrading.findById({ id: object!.id })).toEqual(object)
    expect(await upgrading.listScopes()).toMatchObject([{ scope: 'scope', counts: { active: 1 } }])
    expect(await upgrading.listStored({ bucket: 'bucket' })).toMatchObject([{ object }, { leftover: old }])
    expect(await upgrading.adopt({ ...adopted, storageKey: 'old' })).toEqual({ object: null, known: true })
    expect(await upgrading.deferLeftover({ attemptId, until: new Date() })).toBe(true)
    expect(await upgrading.listLeftovers({ dueBefore: date })).toEqual([])
  })

  describe('must not have an index with another definition:', () => {
    const others: Record<string, IndexDescription> = {
      'another key': { name: 'by_key', key: { at: 1 } },
      'another order of its fields': { name: 'by_key', key: { _id: 1, at: 1 } },
      'another filter': { name: 'by_key', key: { at: 1, _id: 1 }, partialFilterExpression: { at: 'x' } },
      'a collation': { name: 'by_key', key: { at: 1, _id: 1 }, collation: { locale: 'en', strength: 1 } },
      'another name': { name: 'other', key: { at: 1, _id: 1 } },
      hidden: { name: 'by_key', key: { at: 1, _id: 1 }, hidden: true },
    }
    it.each(Object.keys(others))('%s', async (name) => {
      await db.collection('svc_db_history').createIndexes([others[name]!])
      const store = mongoAdapter(db)
      const migrating = store.migrate()
      await expect(migrating).rejects.toMatchObject(UNAVAILABLE)
      await expect(migrating).rejects.toThrow(/^Differs: index of svc_db_history must be by_key .*Drop it/)
      await db.collection('svc_db_history').dropIndexes()
      await store.migrate()
      await db.collection('svc_db_history').dropIndex('by_key')
      await db.collection('svc_db_history').createIndexes([others[name]!])
      expect(await store.verify()).toEqual([
        expect.stringMatching(/^Differs: index of svc_db_history must be by_key /),
      ])
    })
  })

  it.each([
    ['objects', { collation: { locale: 'en', strength: 2 } }, /collation/],
    ['history', { collation: { locale: 'de' } }, /collation/],
    ['leftovers', { capped: true, size: 100_000 }, /capped/],
    ['schema', { viewOn: 'elsewhere', pipeline: [] }, /is a view/],
  ] as const)('must not have an unusable collection: %s, %o', async (name, options, reason) => {
    await db.createCollection(`svc_db_${name}`, { ...options } as object)
    const migrating = mongoAdapter(db).migrate()
    await expect(migrating).rejects.toMatchObject(UNAVAILABLE)
    await expect(migrating).rejects.toThrow(reason)
  })

  it('must not have indexes of others that delete or refuse documents, or a validator', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    await db.collection('svc_db_objects').createIndexes([
      { name: 'gone', key: { 'active.createdAt': 1 }, expireAfterSeconds: 3600 },
      { name: 'once', key: { 'pending.storageKey': 1 }, unique: true, sparse: true },
      { name: 'harmless', key: { 'active.size': 1 } },
    ])
    await db.command({ collMod: 'svc_db_history', validator: { owner: { $exists: true } } })
    expect(await store.verify()).toEqual([
      'svc_db_history must not have a validator, which can refuse documents. Drop it.',
      'Unsafe: index gone of svc_db_objects deletes documents by their age. Drop it.',
      'Unsafe: index once of svc_db_objects is unique, so it refuses documents. Drop it.',
    ])
    await expect(store.migrate()).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: 'Unsafe: index gone of svc_db_objects deletes documents by their age. Drop it.',
    })

    const attempt = (key: string) => ({
      ...{ scope: 'ann', bucket: 'files', key, storageKey: 'same', declaredSize: 1 },
      expiresAt: new Date('2100-01-01'),
    })
    await store.reserve(attempt('a'))
    const second = store.reserve(attempt('b'))
    await expect(second).rejects.toMatchObject(UNAVAILABLE)
    await expect(second).rejects.toThrow(/^A unique index that the adapter did not create refused a document/)
    await store.confirm({ bucket: 'files', key: 'a', size: 1 })
    const removing = store.remove({ bucket: 'files', key: 'a' })
    await expect(removing).rejects.toMatchObject(UNAVAILABLE)
    await expect(removing).rejects.toThrow(/^A validator that the adapter did not create refused a document/)
    expect(await store.checkUsage()).toEqual([])
  })

  it('tells which indexes are being built', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    await db.collection('svc_db_history').dropIndex('by_key')
    const session = client.startSession()
    session.startTransaction()
    await db.collection<{ _id: string }>('svc_db_history').insertOne({ _id: 'held' }, { session })
    const told = new Promise((resolve) => {
      // An index waits for transactions that write to its collection.
      void store.migrate({ onProgress: resolve }).catch(() => {})
    })
    expect(await told).toEqual({
      waitingFor:
        'migrate() waits for MongoDB to build indexes of svc_db_history: by_key. Every member with data takes part.',
    })
    await session.abortTransaction()
    await session.endSession()
    await store.migrate()
    expect(await store.verify()).toEqual([])
  })

  it('of newer code is accepted if it is compatible, and refused otherwise', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    const schema = db.collection<{ _id: string }>('svc_db_schema')
    const [required, newer] = [SCHEMA_VERSION + 1, SCHEMA_VERSION + 2]
    await schema.updateOne({ _id: 'version' }, { $set: { version: newer } })
    expect(await mongoAdapter(db).migrate()).toEqual({ from: newer, to: newer })
    expect(await mongoAdapter(db).getScopeUsage('scope')).toMatchObject({ bytes: 0 })
    await schema.updateOne({ _id: 'version' }, { $set: { minCompatible: required } })
    for (const call of [() => mongoAdapter(db).migrate(), () => mongoAdapter(db).getScopeUsage('scope')]) {
      await expect(call()).rejects.toMatchObject(UNAVAILABLE)
      await expect(call()).rejects.toThrow(
        new RegExp(`version ${newer}, which requires code of schema version ${required} or later.*migrate`),
      )
    }
    expect(await mongoAdapter(db).verify()).toEqual([
      expect.stringContaining(`requires code of schema version ${required}`),
    ])
    expect(await schema.findOne()).toMatchObject({ version: newer, minCompatible: required })
  })

  it('must not be dropped while a store is open: calls reject and name migrate()', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    await store.listByScope({ scope: 'scope', status: 'active' })
    await db.dropDatabase()
    // A query that names an index fails if the index is missing, but returns nothing if the collection is missing.
    await db.createCollection('svc_db_objects')
    const listing = store.listByScope({ scope: 'scope', status: 'active' })
    await expect(listing).rejects.toThrow('migrate()')
  })

  it('needs a server that carries out rollbacks', async () => {
    const proxy = await proxyWithoutTransactions(url)
    const other = clientOf(proxy.url)
    try {
      const migrating = mongoAdapter(other.db(db.databaseName)).migrate()
      await expect(migrating).rejects.toMatchObject(UNAVAILABLE)
      await expect(migrating).rejects.toThrow(/reported a rollback but/)
    } finally {
      await other.close()
      await proxy.close()
    }
  })

  it.skipIf(installedMongod() === null)('needs a replica set, not a standalone server', async () => {
    const server = await startStandalone(installedMongod()!)
    const other = clientOf(server.url)
    try {
      const store = mongoAdapter(other.db('standalone'))
      for (const call of [() => store.migrate()]) {
        await expect(call()).rejects.toMatchObject(UNAVAILABLE)
        await expect(call()).rejects.toThrow(/must be a replica set/)
      }
      expect((await store.verify())[0]).toMatch(/must be a replica set/)
      expect(await other.db('standalone').listCollections().toArray()).toEqual([])
    } finally {
      await other.close()
      await server.stop()
    }
  })
})

/** A server that accepts all commands of a transaction but runs each statement on its own, like some MongoDB clones. */
async function proxyWithoutTransactions(target: string): Promise<WireProxy> {
  const proxy = await wireProxy(target)
  proxy.onCommand = (command) => {
    if (!('autocommit' in command)) return 'pass'
    const {
      autocommit: _1,
      startTransaction: _2,
      txnNumber: _3,
      lsid: _4,
      readConcern: _5,
      ...statement
    } = command
    const isEnd = 'commitTransaction' in command || 'abortTransaction' in command
    return { instead: isEnd ? { ping: 1, $db: 'admin' } : statement }
  }
  return proxy
}
