import { createStore } from '../../core/create-store.js'
import type { StorageObjectStore } from '../../core/store.js'
import type { Database, PGliteDatabase, PostgresPool } from './connection/database.js'
import { pgDatabase } from './connection/pg-database.js'
import { pgliteDatabase } from './connection/pglite-database.js'
import { createPostgresDriver } from './postgres-driver.js'
import { schemaText } from './schema/migration-text.js'
import { schemaName } from './schema/schema-name.js'
import { STEPS } from './schema/steps.js'

export type { PGliteDatabase, PostgresPool } from './connection/database.js'

const DEFAULT_SCHEMA = 'svc_db'

export interface PostgresSchemaOptions {
  /** The schema that holds the tables and functions of the library, and nothing else. Default `svc_db`. */
  readonly schema?: string | undefined
}

export interface PostgresAdapterOptions extends PostgresSchemaOptions {
  /** A pool of a replica, which may lag: it serves `listByScope` and `countByScope`. */
  readonly readPool?: PostgresPool | PGliteDatabase | undefined
  /**
   * Whether statements are prepared once a connection, under names that no other library uses. Default `true`; `false`
   * behind a pooler that hands each transaction to another connection and keeps no prepared statements (PgBouncer
   * before 1.21 in transaction mode).
   */
  readonly namedStatements?: boolean | undefined
  /** The clock of the store. Default: the system's. */
  readonly now?: (() => Date) | undefined
}

/**
 * A store in PostgreSQL, over a `pg` Pool (or a Client, or anything with the same `query` and `connect`), or in PGlite.
 * Call `migrate()` once before anything else. The pool stays the caller's to configure and to end.
 *
 * @throws TypeError for a pool that is none, or a schema that can't be one.
 */
export function postgresAdapter(
  pool: PostgresPool | PGliteDatabase,
  options: PostgresAdapterOptions = {},
): StorageObjectStore {
  const { schema = DEFAULT_SCHEMA, readPool, namedStatements = true, now } = options
  const database = databaseOf(pool, 'pool', namedStatements)
  const readDatabase = readPool ? databaseOf(readPool, 'readPool', namedStatements) : database
  const driver = createPostgresDriver({ database, readDatabase, schema: schemaName(schema) })
  return createStore(driver, { now })
}

/**
 * What `migrate()` does, as SQL for a migration tool of your own. It may be run on any earlier version, and again.
 *
 * @throws TypeError for a schema that can't be one.
 */
export function postgresSchema(options: PostgresSchemaOptions = {}): string {
  return schemaText(STEPS, schemaName(options.schema ?? DEFAULT_SCHEMA))
}

function databaseOf(pool: PostgresPool | PGliteDatabase, name: string, named: boolean): Database {
  const given = Object(pool) as Readonly<Record<string, unknown>>
  const has = (method: string) => typeof given[method] === 'function'
  if (has('query') && has('exec') && !has('connect')) return pgliteDatabase(pool as PGliteDatabase)
  if (has('query') && has('connect')) return pgDatabase(pool as PostgresPool, { named })
  throw new TypeError(`${name} must be a pool or client of pg, or a PGlite database.`)
}
