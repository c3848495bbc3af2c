import type { Db, IndexDescription, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startStandalone } from '../../servers/mongod.js'
import { everyCall } from '../postgres/every-call.js'
import { clientOf, describeMongo, DRIVERS, freshDatabase } from './places.js'
import { pretendingTransactions } from './pretending-server.js'

const UNAVAILABLE = { name: 'StorageError', code: 'DATABASE_UNAVAILABLE' }

describeMongo('migrate() and verify()', (url) => {
  const client = clientOf(url)
  let db: Db
  beforeEach(() => {
    db = freshDatabase(client)
  })
  afterEach(() => db.dropDatabase())
  afterAll(() => client.close())

  const indexesOf = (name: string) => db.collection(`svc_db_${name}`).indexes()

  it('makes what is needed, and again changes nothing', async () => {
    const store = mongoAdapter(db)
    expect(await store.verify()).toEqual(['There is no version in svc_db_schema: run migrate().'])
    expect(await store.migrate()).toEqual({ from: 0, to: 1 })
    expect(await store.verify()).toEqual([])
    const before = await indexesOf('objects')
    expect(await store.migrate()).toEqual({ from: 1, to: 1 })
    expect(await indexesOf('objects')).toEqual(before)
    expect(await db.collection('svc_db_schema').countDocuments()).toBe(1)
  })

  it('works in many processes at once, with both drivers', async () => {
    const clients: MongoClient[] = []
    const stores = Array.from({ length: 16 }, (_, i) => {
      const other = new DRIVERS[i % 2 ? 7 : 6](url)
      clients.push(other)
      return mongoAdapter(other.db(db.databaseName))
    })
    const results = await Promise.all(stores.map((store) => store.migrate()))
    expect(new Set(results.map(({ to }) => to))).toEqual(new Set([1]))
    expect(await stores[0]!.verify()).toEqual([])
    await Promise.all(clients.map((other) => other.close()))
  })

  it('loses nothing of what is there, while others write', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    const expiresAt = new Date(Date.now() + 60_000)
    const keys = Array.from({ length: 50 }, (_, i) => `${i}`)
    const [rows] = await Promise.all([
      Promise.all(
        keys.map((key) => store.reserve({ scope: key, bucket: 'b', key, declaredSize: 1, expiresAt })),
      ),
      mongoAdapter(db).migrate(),
      mongoAdapter(db).migrate(),
    ])
    for (const row of rows) expect(await store.find(row)).toEqual(row)
  })

  it('makes what somebody has dropped', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    await db.collection('svc_db_history').dropIndex('by_key')
    await db.collection('svc_db_leftovers').drop()
    expect(await store.verify()).toEqual([
      'Missing: index by_key of svc_db_history.',
      'Missing: index by_age of svc_db_leftovers.',
    ])
    await store.migrate()
    expect(await store.verify()).toEqual([])
  })

  describe('an index that is there with another definition is refused', () => {
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
      await expect(migrating).rejects.toThrow(/^Differs: index of svc_db_history, .*by_key.*Drop it/)
      await db.collection('svc_db_history').dropIndexes()
      await store.migrate()
      await db.collection('svc_db_history').dropIndex('by_key')
      await db.collection('svc_db_history').createIndexes([others[name]!])
      expect(await store.verify()).toEqual([
        expect.stringMatching(/^Differs: index of svc_db_history, .*by_key/),
      ])
    })
  })

  it.each([
    ['objects', { collation: { locale: 'en', strength: 2 } }, /collation/],
    ['history', { collation: { locale: 'de' } }, /collation/],
    ['leftovers', { capped: true, size: 100_000 }, /capped/],
    ['schema', { viewOn: 'elsewhere', pipeline: [] }, /is a view/],
  ] as const)('a collection that can not be used is refused: %s, %o', async (name, options, reason) => {
    await db.createCollection(`svc_db_${name}`, { ...options } as object)
    const migrating = mongoAdapter(db).migrate()
    await expect(migrating).rejects.toMatchObject(UNAVAILABLE)
    await expect(migrating).rejects.toThrow(reason)
  })

  it('newer code that still takes this one is gone along with; one that does not is refused', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    const schema = db.collection<{ _id: string }>('svc_db_schema')
    await schema.updateOne({ _id: 'version' }, { $set: { version: 3 } })
    expect(await mongoAdapter(db).migrate()).toEqual({ from: 3, to: 3 })
    expect(await mongoAdapter(db).getScopeUsage('scope')).toMatchObject({ bytes: 0 })
    await schema.updateOne({ _id: 'version' }, { $set: { minCompatible: 2 } })
    for (const call of [() => mongoAdapter(db).migrate(), () => mongoAdapter(db).getScopeUsage('scope')]) {
      await expect(call()).rejects.toMatchObject(UNAVAILABLE)
      await expect(call()).rejects.toThrow(/version 3, which takes code of version 2 or later.*migrate\(\)/)
    }
    expect(await mongoAdapter(db).verify()).toEqual([expect.stringContaining('takes code of version 2')])
    expect(await schema.findOne()).toMatchObject({ version: 3, minCompatible: 2 })
  })

  describe('a place that was never migrated', () => {
    for (const { name, call } of everyCall('scope', () => new Date())) {
      if (name === 'ping' || name.endsWith('refused')) continue
      it(`${name} names migrate()`, async () => {
        const calling = call(mongoAdapter(db))
        await expect(calling).rejects.toMatchObject(UNAVAILABLE)
        await expect(calling).rejects.toThrow('migrate()')
        expect(await db.listCollections().toArray()).toEqual([])
      })
    }
  })

  it('collections that are dropped while the store is open are missed', async () => {
    const store = mongoAdapter(db)
    await store.migrate()
    await store.listByScope({ scope: 'scope', status: 'active' })
    await db.dropDatabase()
    // An index that is asked for by its name has to be there; where the collection is gone the list is empty.
    await db.createCollection('svc_db_objects')
    const listing = store.listByScope({ scope: 'scope', status: 'active' })
    await expect(listing).rejects.toThrow('migrate()')
  })

  it('a server that says yes to a rollback and does not perform it is refused', async () => {
    const server = await pretendingTransactions(url)
    const pretended = clientOf(server.url)
    try {
      const migrating = mongoAdapter(pretended.db(db.databaseName)).migrate()
      await expect(migrating).rejects.toMatchObject(UNAVAILABLE)
      await expect(migrating).rejects.toThrow(/rolled a transaction back, but/)
    } finally {
      await pretended.close()
      await server.close()
    }
  })

  it.skipIf(installedMongod() === null)('a standalone server is refused', async () => {
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

  it('what is no Db, or no prefix, is a TypeError', () => {
    for (const wrong of [client, {}, null, 'url']) expect(() => mongoAdapter(wrong as Db)).toThrow(TypeError)
    for (const collectionPrefix of ['a$b', 'a\0b', 'system.', '.a', 'x'.repeat(101), 5]) {
      expect(() => mongoAdapter(db, { collectionPrefix: collectionPrefix as string })).toThrow(TypeError)
    }
  })
})
