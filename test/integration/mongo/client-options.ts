import type { StorageObjectStore } from '@svc/db'
import type { MongoClientOptions } from 'mongodb'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase, type DriverVersion } from './databases.js'

const EARLY = new Date('0001-01-01T00:00:00.001Z')
const LATE = new Date('9999-12-31T23:59:59.999Z')
const BIG = 2 ** 52 + 1
const METADATA = JSON.parse(
  '{"z":"1","$set":"$secret","a.b":"$$ROOT","__proto__":"2","":"","$":"3","constructor":"4","1":"one","\\ufeff":"\\u0001"}',
) as Record<string, string>

/** Client options that conflict with the adapter's own and can be combined. To find the one that breaks, use each alone. */
const COMBINABLE: Readonly<Record<string, MongoClientOptions>> = {
  promoteLongs: { promoteLongs: false },
  promoteValues: { promoteValues: false },
  promoteBuffers: { promoteBuffers: true },
  ignoreUndefined: { ignoreUndefined: true },
  serializeFunctions: { serializeFunctions: true },
  bsonRegExp: { bsonRegExp: true },
  enableUtf8Validation: { enableUtf8Validation: false },
  retryWrites: { retryWrites: false, retryReads: false },
  writeConcern: { writeConcern: { w: 0 } },
  linearizable: { readConcern: { level: 'linearizable' } },
  secondaryPreferred: { readPreference: 'secondaryPreferred' },
  onePooledConnection: { maxPoolSize: 1 },
}

const OPTIONS: Readonly<Record<string, MongoClientOptions>> = {
  none: {},
  all: Object.assign({}, ...Object.values(COMBINABLE)) as MongoClientOptions,
  useBigInt64: { useBigInt64: true },
  journal: { writeConcern: { w: 1, journal: false } },
  available: { readConcern: { level: 'available' } },
  timeoutMS: { timeoutMS: 5000 },
  serverApi: { serverApi: { version: '1', strict: true, deprecationErrors: true } },
}

const inputs = ['one', '$secret', '$active.id', '\ufeff', 'e\u0301'].map((key, i) => ({
  scope: '$scope',
  bucket: `$bucket.${i}`,
  key,
  declaredSize: i === 0 ? BIG : 2 ** 31 + i,
  expiresAt: LATE,
  route: `$route.${i}`,
  filename: '$pending.filename',
  contentType: '$contentType',
  metadata: METADATA,
  storageKey: `$storage.${i}`,
  uploadId: i % 2 ? '$upload' : null,
}))

/**
 * Takes objects through their whole life, with values that client options could corrupt, and compares results with
 * reads.
 */
async function runLifecycle(store: StorageObjectStore): Promise<void> {
  await store.migrate()
  expect(await store.verify()).toEqual([])
  const rows = await Promise.all(inputs.map((input) => store.reserve(input)))
  for (const [i, row] of rows.entries()) {
    expect(row).toMatchObject({ ...inputs[i], createdAt: EARLY, updatedAt: EARLY })
    expect(Object.entries(row.metadata!)).toEqual(Object.entries(METADATA))
    expect(await store.find(row)).toEqual(row)
  }
  expect(await store.getScopeUsage('$scope')).toEqual({
    bytes: 0,
    files: 0,
    reservedBytes: rows.reduce((sum, row) => sum + row.declaredSize!, 0),
    reservedFiles: rows.length,
  })
  const objects = await Promise.all(
    rows.map(({ bucket, key, id, declaredSize }) =>
      store.confirm({ bucket, key, id, scope: '$scope', size: declaredSize!, eTag: '$eTag' }),
    ),
  )
  for (const object of objects) {
    const found = await store.findActive(object)
    expect(found).toEqual(object)
    expect(Object.entries(found!.metadata!)).toEqual(Object.entries(METADATA))
  }
  const listed = (await store.listByScope({ scope: '$scope' })).objects
  expect(listed).toEqual(objects.toSorted((a, b) => (a.id < b.id ? 1 : -1)))
  const [first, second, third] = objects
  const removed = await store.remove({ ...first!, scope: '$scope' })
  expect(await store.find(first!)).toEqual(removed)
  expect((await store.listByScope({ scope: '$scope', status: 'deleted' })).objects).toEqual([removed])
  await store.remove({ bucket: second!.bucket, key: second!.key, mode: 'hard' })
  const again = await store.reserve({ ...inputs[2]!, storageKey: 'other', declaredSize: 2 ** 40 })
  expect(await store.listExpired()).toEqual([])
  expect(await store.release({ ...third!, id: again.id })).toEqual(again)
  const leftovers = await store.listLeftovers()
  expect(leftovers).toHaveLength(3)
  for (const leftover of leftovers) {
    expect(leftover).toMatchObject({ since: EARLY, writableUntil: LATE })
    expect(await store.forgetLeftover(leftover)).toBe(true)
    expect(await store.forgetLeftover(leftover)).toBe(false)
  }
  expect(await store.countByScope('$scope', 'deleted')).toBe(1)
  expect(await store.purgeDeleted({ before: LATE })).toBe(1)
  expect(await store.countByScope('$scope', 'deleted')).toBe(0)
  expect(await store.checkUsage()).toEqual([])
}

/** Registers tests of the options of the application's client. */
export function clientOptionTests(driver: DriverVersion): void {
  describeMongo(`the adapter with driver ${driver} ignores client options:`, (url) => {
    const plain = clientOf(url, {}, driver)
    afterAll(() => plain.close())

    it.each(Object.keys(OPTIONS))('%s', async (name) => {
      const client = clientOf(url, OPTIONS[name], driver)
      const database = freshDatabase(plain)
      try {
        await runLifecycle(mongoAdapter(client.db(database.databaseName), { now: () => EARLY }))
        await runLifecycle(
          mongoAdapter(client.db(database.databaseName, OPTIONS[name] as object), {
            collectionPrefix: 'again_',
            now: () => EARLY,
          }),
        )
        await expectLongs(database.databaseName)
      } finally {
        await client.close()
        await database.dropDatabase()
      }
    })

    /** Expects that the database holds sizes as 64-bit integers, whatever their value. */
    async function expectLongs(name: string): Promise<void> {
      const client = clientOf(url, { promoteLongs: false }, driver)
      onTestFinished(() => client.close())
      const objects = client.db(name).collection<{ _id: string }>('svc_db_objects')
      const fields = ['bytes', 'files', 'reservedBytes', 'reservedFiles', 'pendingRows', 'deletedRows']
      const types = { $project: Object.fromEntries(fields.map((field) => [field, { $type: `$${field}` }])) }
      const [sums] = await objects.aggregate([{ $match: { _id: '$scope' } }, types]).toArray()
      for (const field of fields) expect(sums![field]).toBe('long')
      const sizes = { $project: { _id: 0, type: { $type: '$active.size' } } }
      const rows = await objects.aggregate([{ $match: { active: { $exists: true } } }, sizes]).toArray()
      expect(new Set(rows.map(({ type }) => type as string))).toEqual(new Set(['long']))
    }

    it('a size that JavaScript would round is a RangeError', async () => {
      const client = clientOf(url, {}, driver)
      const db = freshDatabase(client)
      onTestFinished(async () => {
        await db.dropDatabase()
        await client.close()
      })
      const store = mongoAdapter(db)
      await store.migrate()
      const rounded = { _id: 'too large', bytes: 9007199254740993n }
      await db.collection<{ _id: string; bytes: bigint }>('svc_db_objects').insertOne(rounded)
      await expect(store.getScopeUsage('too large')).rejects.toThrow(RangeError)
    })
  })
}
