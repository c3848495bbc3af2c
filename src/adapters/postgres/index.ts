import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { checkAdapterOptions, checkSchemaOptions } from './options.js'
import type { PostgresAdapterOptions, PostgresSchemaOptions } from './options.js'
import type { PGliteDatabase, PostgresPool, PostgresSql } from './connection/database.js'
import { createPostgresDriver } from './driver.js'
import { schemaText } from './migrate/text.js'
import { SCHEMA } from './sql/schema.js'

export type { PostgresAdapterOptions, PostgresSchemaOptions } from './options.js'
export type {
  PGliteDatabase,
  PostgresPool,
  PostgresQuery,
  PostgresResult,
  PostgresSql,
  PostgresValue,
} from './connection/database.js'

/**
 * Creates a store in PostgreSQL over a `pg` Pool (or a Client, or anything with the same `query` and `connect`), over an
 * instance of `postgres` (postgres.js), or in PGlite. Call `migrate()` once before any other method. You configure and
 * end the pool yourself.
 *
 * A store over a client in a transaction, or over the `sql` that `sql.begin` passes on, takes part in that transaction.
 *
 * @throws TypeError for an invalid pool or option.
 */
export function postgresAdapter(
  pool: PostgresPool | PostgresSql | PGliteDatabase,
  options?: PostgresAdapterOptions | null,
): StorageObjectStore {
  const { now, ...driverOptions } = checkAdapterOptions(pool, options)
  return createStore(createPostgresDriver(driverOptions), { now })
}

/**
 * Returns the SQL of `migrate()` for your own migration tool, which runs it in one transaction. It upgrades a schema of
 * any earlier version and may run again. Unlike `migrate()`, it blocks writers while it builds an index. The comments
 * in the SQL name the statements that build large indexes beforehand.
 *
 * @throws TypeError for an invalid option.
 */
export function postgresSchema(options?: PostgresSchemaOptions | null): string {
  const { schema, events } = checkSchemaOptions('postgresSchema', options)
  return schemaText(SCHEMA, schema, events)
}
