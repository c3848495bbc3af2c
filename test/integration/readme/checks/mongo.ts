import { randomBytes } from 'node:crypto'
import { MongoClient, type MongoServerError } from 'mongodb'
import { expect, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { mongoAdapter } from '@svc/db/mongo'
import { installedMongod, installedMongos, startReplicaSet } from '../../../servers/mongod.js'
import { startShardedCluster } from '../../../servers/sharded-cluster.js'
import { run, runApart, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { expectToServe, migratesAndEnds, uploadTo } from '../store-programs.js'

interface MongoProgram {
  readonly client: MongoClient
  readonly store: StorageObjectStore
}

/** Opens a database for the snippets. `drop` removes it after the tests. */
export function openMongoDatabase(serverUrl: string) {
  const url = urlOf(serverUrl, `test_${randomBytes(6).toString('hex')}`)
  return {
    url,
    async drop() {
      const client = new MongoClient(url)
      await client.db().dropDatabase()
      await client.close()
    },
  }
}

function urlOf(serverUrl: string, database: string, user?: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  if (user !== undefined) [url.username, url.password] = [user, `password of ${user}`]
  return url.href
}

const keepsRecords: SnippetCheck = async (program) => {
  const { client, store } = await run<MongoProgram>(program)
  expect(client.db().databaseName).toBe(new URL(process.env['MONGODB_URL']!).pathname.slice(1))
  await store.migrate()
  await uploadTo(store, 'plain')
}

const failsUntilMigrated: SnippetCheck = async (program) => {
  const { client, store } = await runSibling<MongoProgram>(program, 'database.mjs')
  await store.migrate()
  await client.db().collection('svc_db_objects').dropIndex('pending_by_id')
  await expect(run(program)).rejects.toThrow('Missing: index pending_by_id of svc_db_objects.')
  await store.migrate()
  await client.close()
}

const turnsEventsOn: SnippetCheck = async (program) => {
  await run(program)
  const client = new MongoClient(process.env['MONGODB_URL']!)
  const store = mongoAdapter(client.db())
  await uploadTo(store, 'with events')
  expect(await store.countEvents()).toMatchObject({ waiting: 1 })
  // The other snippets share the database.
  await mongoAdapter(client.db(), { events: false }).migrate()
  await client.close()
}

/** Needs a server with authentication, which the shared one doesn't have. */
const givesUsersWhatTheyNeed: SnippetCheck = async (program) => {
  const set = await startReplicaSet(installedMongod()!, { members: 1, durable: false, signIn: true })
  const clients: MongoClient[] = []
  const open = (database: string, user?: string) => {
    const client = new MongoClient(urlOf(set.url, database, user))
    clients.push(client)
    return client
  }
  try {
    await open('admin')
      .db()
      .command({ createUser: 'admin', pwd: 'password of admin', roles: ['root'] })
    vi.stubEnv('MONGODB_ADMIN_URL', urlOf(set.url, 'admin', 'admin'))
    vi.stubEnv('APP_PASSWORD', 'password of app')
    vi.stubEnv('OWNER_PASSWORD', 'password of owner')
    await run(program)

    await expect(mongoAdapter(open('files').db()).migrate()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    })
    await mongoAdapter(open('files', 'owner').db(), { events: true }).migrate()
    const db = open('files', 'app').db()
    await expectToServe(mongoAdapter(db))
    const [event] = await mongoAdapter(db).claimEvents()
    expect(await mongoAdapter(db).settleEvents([event!])).toEqual([event!.id])
    await expect(mongoAdapter(db).migrate()).rejects.toMatchObject({
      message: 'The MongoDB user lacks a privilege that the adapter needs.',
    })
    const objects = db.collection('svc_db_objects')
    for (const refused of [
      () => objects.drop(),
      () => objects.createIndex({ a: 1 }),
      () => db.collection('others').findOne(),
    ]) {
      await expect(refused()).rejects.toMatchObject({ code: 13 } satisfies Partial<MongoServerError>)
    }
  } finally {
    await Promise.all(clients.map((client) => client.close()))
    await set.remove()
  }
}

const printsPairs: SnippetCheck = async (program) => {
  vi.stubEnv('CALLERS', '4')
  vi.stubEnv('SECONDS', '1')
  const log = vi.spyOn(console, 'log').mockReturnValue()
  await run(program)
  expect(log.mock.calls).toEqual([[expect.stringMatching(/^4 callers: [1-9]\d* pairs per second$/)]])
}

/** Needs a cluster, so a machine without `mongos` only compiles it. */
const shardsCollections: SnippetCheck = async (program) => {
  const programs = { mongod: installedMongod()!, mongos: installedMongos() }
  const { mongos } = programs
  if (mongos === null) return
  const cluster = await startShardedCluster({ ...programs, mongos })
  const client = new MongoClient(cluster.url)
  try {
    const before = mongoAdapter(client.db('filled'))
    await before.migrate()
    await uploadTo(before, 'before')
    const stores = { filled: before, empty: mongoAdapter(client.db('empty')) }
    for (const [name, store] of Object.entries(stores)) {
      const shard = () => runApart(program, { MONGODB_ADMIN_URL: urlOf(cluster.url, name) })
      await shard()
      // As after an interruption.
      if (store === before) await shard()
      await store.migrate()
      await uploadTo(store, 'sharded')
      expect(await store.verify()).toEqual([])
    }
    const sharded = await client
      .db('config')
      .collection('collections')
      .countDocuments({ key: { _id: 'hashed' } })
    expect(sharded).toBe(6)
  } finally {
    await client.close()
    await cluster.remove()
  }
}

export const mongoChecks: SnippetChecks = {
  'docs/capacity.md#bare-pairs.ts': { onMongo: printsPairs },
  'docs/mongo.md#database.ts': { onMongo: keepsRecords },
  'docs/mongo.md#migrate.ts': { onMongo: migratesAndEnds('collections were') },
  'docs/mongo.md#start.ts': { onMongo: failsUntilMigrated },
  'docs/mongo.md#turn-on-events.ts': { onMongo: turnsEventsOn },
  'docs/mongo.md#users.ts': { onOwnMongod: givesUsersWhatTheyNeed },
  'docs/mongo.md#shard-collections.ts': { onOwnMongod: shardsCollections },
}
