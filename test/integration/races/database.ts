import type { StorageObjectStore } from '@svc/db'
import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter } from '@svc/db/postgres'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'
import { MongoClient } from 'mongodb'
import pg from 'pg'

/** How a process reaches the database that it shares with others. */
export type Connection =
  | {
      readonly kind: 'postgres'
      readonly url: string
      readonly schema: string
      readonly namedStatements?: boolean
    }
  | { readonly kind: 'mongo'; readonly url: string; readonly database: string }
  | { readonly kind: 'sqlite'; readonly path: string }

export interface OpenDatabase {
  /** Opens a store over these connections. */
  readonly open: (now?: () => Date) => StorageObjectStore
  /** Rejects if the driver is left with connections that are broken or in use. */
  readonly close: () => Promise<void>
}

export function openDatabase(connection: Connection, connections: number): OpenDatabase {
  if (connection.kind === 'mongo') {
    const client = new MongoClient(connection.url, { maxPoolSize: connections })
    const db = client.db(connection.database)
    return { open: (now) => mongoAdapter(db, { now }), close: () => client.close() }
  }
  if (connection.kind === 'sqlite') {
    const database = new Database(connection.path)
    return { open: (now) => sqliteAdapter(database, { now }), close: async () => void database.close() }
  }
  const { url, schema, namedStatements } = connection
  const pool = new pg.Pool({ connectionString: url, max: connections })
  pool.on('error', () => {})
  return {
    open: (now) => postgresAdapter(pool, { schema, namedStatements, now }),
    async close() {
      const { totalCount, idleCount, waitingCount } = pool
      await pool.end()
      if (idleCount === totalCount && waitingCount === 0) return
      throw new Error(
        `only ${idleCount} of ${totalCount} connections are idle, and ${waitingCount} callers are waiting`,
      )
    },
  }
}
