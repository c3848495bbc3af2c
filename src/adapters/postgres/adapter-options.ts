import { shown } from '../../core/store/validation/invalid.js'
import type { Database, PGliteDatabase, PostgresPool } from './connection/database.js'
import { pgDatabase } from './connection/pg-database.js'
import { pgliteDatabase } from './connection/pglite-database.js'
import { schemaName, type SchemaName } from './schema/schema-name.js'

const DEFAULT_SCHEMA = 'svc_db'

export interface PostgresSchemaOptions {
  /**
   * The schema that holds the tables and functions of the library, and nothing else: at most 63 bytes of UTF-8. Default
   * `svc_db`.
   */
  readonly schema?: string | null | undefined
}

export interface PostgresAdapterOptions extends PostgresSchemaOptions {
  /** A pool of a replica, which may lag: it serves `listByScope` and `countByScope`. Default: the pool itself. */
  readonly readPool?: PostgresPool | PGliteDatabase | null | undefined
  /**
   * Whether statements are prepared once a connection, under names that no other library uses. Default `true`; `false`
   * behind a pooler that hands each transaction to another connection and keeps no prepared statements (PgBouncer
   * before 1.21 in transaction mode).
   */
  readonly namedStatements?: boolean | null | undefined
  /** The clock of the store. Default: the system's. */
  readonly now?: (() => Date) | null | undefined
}

/** The options, checked and filled in. */
export interface CheckedAdapterOptions {
  readonly database: Database
  readonly readDatabase: Database
  readonly schema: SchemaName
  readonly now: (() => Date) | null
}

/** @throws TypeError that names what is wrong, its value, and what is allowed. */
export function checkAdapterOptions(pool: unknown, options: unknown): CheckedAdapterOptions {
  const caller = 'postgresAdapter'
  const { readPool, namedStatements, now } = checkObject(caller, options) as PostgresAdapterOptions
  const named = namedStatements ?? true
  if (typeof named !== 'boolean') {
    throw new TypeError(`${caller}: namedStatements must be true or false, not ${shown(named)}.`)
  }
  if (now !== null && now !== undefined && typeof now !== 'function') {
    throw new TypeError(`${caller}: now must be a function that returns a Date, not ${shown(now)}.`)
  }
  const database = databaseOf(pool, 'pool', named)
  return {
    database,
    readDatabase:
      readPool === null || readPool === undefined ? database : databaseOf(readPool, 'readPool', named),
    schema: checkSchema(caller, options),
    now: now ?? null,
  }
}

/** @throws TypeError for a schema that can't be one. */
export function checkSchema(caller: string, options: unknown): SchemaName {
  const { schema } = checkObject(caller, options) as PostgresSchemaOptions
  return schemaName(caller, schema ?? DEFAULT_SCHEMA)
}

function checkObject(caller: string, options: unknown): object {
  if (options === null || options === undefined) return {}
  if (typeof options !== 'object') {
    throw new TypeError(`${caller}: the options must be an object, not ${shown(options)}.`)
  }
  return options
}

function databaseOf(pool: unknown, name: string, named: boolean): Database {
  const given = Object(pool) as Readonly<Record<string, unknown>>
  const has = (method: string) => typeof given[method] === 'function'
  if (has('query') && has('exec') && !has('connect')) return pgliteDatabase(pool as PGliteDatabase)
  if (has('query') && has('connect')) return pgDatabase(pool as PostgresPool, { named })
  throw new TypeError(
    `postgresAdapter: ${name} must be a pool or client of pg, or a PGlite database, not ${shown(pool)}.`,
  )
}
