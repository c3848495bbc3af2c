// Opens a store over the packages that are installed here. Each call of the result returns an empty store.
import { PGlite } from '@electric-sql/pglite'
import Redis from 'ioredis'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { memoryAdapter } from '@svc/db/memory'
import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter } from '@svc/db/postgres'
import { redisUsageCache } from '@svc/db/redis'

let stores = 0
const freshName = () => `oldest_${process.pid}_${stores++}`

const kinds = {
  pg(connectionString) {
    const pool = new pg.Pool({ connectionString })
    return {
      end: () => pool.end(),
      async createStore({ now }) {
        const store = postgresAdapter(pool, { schema: freshName(), now })
        await store.migrate()
        return store
      },
    }
  },

  pglite() {
    const database = new PGlite()
    let migrated
    return {
      end: () => database.close(),
      async createStore({ now }) {
        const store = postgresAdapter(database, { now })
        // A schema for each store would take minutes.
        await (migrated ??= store.migrate())
        await database.exec(
          'DELETE FROM svc_db.objects; DELETE FROM svc_db.scope_usage; DELETE FROM svc_db.leftovers',
        )
        return store
      },
    }
  },

  async mongodb(url) {
    const client = await new MongoClient(url).connect()
    const database = client.db(freshName())
    return {
      async end() {
        await database.dropDatabase()
        await client.close()
      },
      async createStore({ now }) {
        const store = mongoAdapter(database, { collectionPrefix: `${freshName()}_`, now })
        await store.migrate()
        return store
      },
    }
  },

  ioredis(url) {
    const redis = new Redis(url)
    return {
      end: () => redis.disconnect(),
      createStore: async ({ now }) => redisUsageCache(memoryAdapter({ now }), redis, { prefix: freshName() }),
    }
  },
}

export async function openDriver(name, url) {
  return kinds[name](url)
}
