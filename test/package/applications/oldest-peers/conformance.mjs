// Runs the conformance suite once over the packages that are installed here. Arguments: the driver and the URL of its server.
import { after, describe, it } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import Database from 'better-sqlite3'
import Redis from 'ioredis'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter } from '@svc/db/postgres'
import { redisUsageCache } from '@svc/db/redis'
import { sqliteAdapter } from '@svc/db/sqlite'

let stores = 0
const freshName = () => `oldest_${process.pid}_${stores++}`

/** Each opens a driver. `createStore` returns an empty store. */
const drivers = {
  pg(connectionString) {
    const pool = new pg.Pool({ connectionString })
    return {
      end: () => pool.end(),
      createStore: ({ now, events }) => migrated(postgresAdapter(pool, { schema: freshName(), now, events })),
    }
  },

  pglite() {
    const database = new PGlite()
    const migrations = new Map()
    return {
      end: () => database.close(),
      async createStore({ now, events }) {
        // A schema for each store would take minutes.
        const schema = events ? 'with_events' : 'without_events'
        const store = postgresAdapter(database, { schema, now, events })
        if (!migrations.has(schema)) migrations.set(schema, store.migrate())
        await migrations.get(schema)
        // Events last: deleting an object records one.
        for (const table of ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections', 'events'])
          await database.exec(`DELETE FROM ${schema}.${table}`)
        return store
      },
    }
  },

  async mongodb(url) {
    const client = await new MongoClient(url).connect()
    const database = client.db(freshName())
    return {
      end: () => database.dropDatabase().finally(() => client.close()),
      createStore: ({ now, events }) =>
        migrated(mongoAdapter(database, { collectionPrefix: `${freshName()}_`, now, events })),
    }
  },

  'better-sqlite3'() {
    const databases = []
    return {
      end: () => databases.forEach((database) => database.close()),
      createStore({ now, events }) {
        const database = new Database(':memory:')
        databases.push(database)
        return migrated(sqliteAdapter(database, { now, events }))
      },
    }
  },

  ioredis(url) {
    const redis = new Redis(url)
    return {
      end: () => redis.disconnect(),
      createStore: ({ now, events }) =>
        redisUsageCache(memoryAdapter({ now, events }), redis, { prefix: freshName() }),
    }
  },
}

async function migrated(store) {
  await store.migrate()
  return store
}

const [name, url] = process.argv.slice(2)
const { createStore, end } = await drivers[name](url)
storeConformance({ name, createStore, test: { describe, it }, numRuns: 1, seed: 20260101 })
after(end)
