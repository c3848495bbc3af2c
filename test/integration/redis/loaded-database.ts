import { MongoClient } from 'mongodb'
import pg from 'pg'
import type { StorageObjectStore } from '@svc/db'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { postgresAdapter } from '../../../src/adapters/postgres/index.js'

/** The database that load processes share. */
export type LoadedDatabase =
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
  | { readonly kind: 'mongo'; readonly url: string; readonly name: string }

export interface OpenDatabase {
  readonly store: StorageObjectStore
  readonly close: () => Promise<void>
}

export function openDatabase(database: LoadedDatabase, connections: number): OpenDatabase {
  if (database.kind === 'postgres') {
    const pool = new pg.Pool({ connectionString: database.url, max: connections })
    return { store: postgresAdapter(pool, { schema: database.schema }), close: () => pool.end() }
  }
  const client = new MongoClient(database.url, { maxPoolSize: connections })
  return { store: mongoAdapter(client.db(database.name)), close: () => client.close() }
}
