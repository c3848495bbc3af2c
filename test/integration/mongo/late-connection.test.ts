import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { StorageError, type StorageObjectStore } from '@svc/db'
import { Db, MongoClient } from 'mongodb'
import mongoose from 'mongoose'
import { afterEach, describe, expect, it } from 'vitest'
import { mongoAdapter, type MongoDatabaseSource } from '../../../src/adapters/mongo/index.js'
import { expectWholeLife } from '../drivers/whole-life.js'
import { clientOf, describeMongo, DRIVERS, type DriverVersion } from './databases.js'

// Loaded without its types, which declare a module of the same name as those of mongoose 9.
const mongoose8 = createRequire(import.meta.url)('mongoose8') as typeof mongoose

/** The second one has its own copy of the driver, version 6, and of bson. */
const MONGOOSES = { 9: mongoose, 8: mongoose8 } as const
const VERSIONS = Object.keys(MONGOOSES).map(Number) as (keyof typeof MONGOOSES)[]

const NOWHERE = 'mongodb://nowhere.invalid/database'
const attempt = (key: string) => ({
  ...{ scope: 'scope', bucket: 'bucket', key, declaredSize: 1 },
  expiresAt: new Date(Date.now() + 60_000),
})

async function expectNotOpen(store: StorageObjectStore): Promise<void> {
  for (const call of [
    () => store.migrate(),
    () => store.verify(),
    () => store.ping(),
    () => store.reserve(attempt('early')),
    () => store.find({ bucket: 'bucket', key: 'early' }),
    () => store.listByScope({ scope: 'scope' }),
    () => store.purgeExpired(),
    () => store.repairUsage(),
  ]) {
    await expect(call()).rejects.toThrow(StorageError)
    await expect(call()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('is not open yet') as string,
    })
  }
}

describe('mongoAdapter', () => {
  it.each<[string, unknown, string]>([
    ['mongoose', mongoose, 'an instance of Mongoose'],
    ['a connection of mongoose', mongoose.createConnection(), 'an instance of NativeConnection'],
    ['a client', new MongoClient(NOWHERE), 'an instance of MongoClient'],
    ['a class', Db, 'a function'],
    ['a Promise', Promise.resolve(new MongoClient(NOWHERE).db()), 'an instance of Promise'],
    ['a URL, which can contain a password', 'mongodb://user:secret@host/db', 'a string'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object with one method of a Db', { collection: () => {} }, 'an object'],
  ])('refuses %s', (_what, db, got) => {
    expect(() => mongoAdapter(db as never)).toThrow(
      new TypeError(
        `mongoAdapter: db must be a Db of mongodb 6 or later, or a function that returns one: see docs/your-orm.md (got ${got}).`,
      ),
    )
  })

  it.each([
    ...['a$b', 'a\0b', 'system.', '.a', 'x'.repeat(101), 5].map((collectionPrefix) => ({ collectionPrefix })),
    { events: 'on' },
  ])('refuses the options %o', (options) => {
    expect(() => mongoAdapter(new MongoClient(NOWHERE).db(), options as never)).toThrow(TypeError)
  })

  it('rejects calls with a TypeError if its function returns no Db', async () => {
    const store = mongoAdapter((() => mongoose.connection) as unknown as MongoDatabaseSource)
    const refusal = new TypeError(
      'mongoAdapter: the function must return a Db of mongodb 6 or later: see docs/your-orm.md (got an instance of NativeConnection).',
    )
    await expect(store.ping()).rejects.toThrow(refusal)
    await expect(store.find({ bucket: 'b', key: 'k' })).rejects.toThrow(refusal)
  })

  it.each([undefined, null])('rejects calls while its function returns %s', async (nothing) => {
    await expectNotOpen(mongoAdapter(() => nothing))
  })
})

describeMongo('mongoAdapter over a connection that opens later', (serverUrl) => {
  const cleanups: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  function freshUrl(): string {
    const url = new URL(serverUrl)
    url.pathname = `/test_${randomBytes(6).toString('hex')}`
    return url.href
  }

  it.each(Object.keys(DRIVERS).map(Number) as DriverVersion[])(
    'a client of driver %i, and another one that replaces it',
    async (driver) => {
      let db: Db | undefined
      const store = mongoAdapter(() => db)
      await expectNotOpen(store)
      const url = freshUrl()
      const client = clientOf(url, {}, driver)
      db = client.db()
      await expectWholeLife((now) => mongoAdapter(() => db, { now }))
      await client.close()
      await expect(store.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      const next = clientOf(url, {}, driver)
      db = next.db()
      cleanups.push(
        () => next.close(),
        () => next.db().dropDatabase(),
      )
      await store.reserve(attempt('of the next client'))
      expect(await store.listScopes()).toHaveLength(2)
    },
  )

  it.each(VERSIONS)('mongoose %i, before and after it connects', async (version) => {
    const connection = MONGOOSES[version].createConnection()
    const store = mongoAdapter(() => connection.db)
    await expectNotOpen(store)
    await connection.openUri(freshUrl())
    cleanups.push(
      () => connection.close(),
      () => connection.dropDatabase(),
    )
    await expectWholeLife((now) => mongoAdapter(() => connection.db, { now }))
  })

  it.each(VERSIONS)('connection.db of mongoose %i, with a model in the same database', async (version) => {
    const { Schema } = MONGOOSES[version]
    const url = freshUrl()
    const connection = await MONGOOSES[version].createConnection(url).asPromise()
    const other = new MongoClient(url)
    cleanups.push(
      () => other.close(),
      () => connection.close(),
      () => connection.dropDatabase(),
    )
    const Note = connection.model('Note', new Schema({ text: String }))
    await Note.create({ text: 'hello' })
    expect(() => mongoAdapter(connection as never)).toThrow(TypeError)
    await expectWholeLife((now) => mongoAdapter(connection.db!, { now }), mongoAdapter(other.db()))
    expect(await Note.countDocuments()).toBe(1)
    await mongoAdapter(connection.db!).close()
    expect(connection.readyState).toBe(1)
  })
})
