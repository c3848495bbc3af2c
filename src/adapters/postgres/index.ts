import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import {
  checkAdapterOptions,
  checkSchema,
  type PostgresAdapterOptions,
  type PostgresSchemaOptions,
} from './adapter-options.js'
import type { PGliteDatabase, PostgresPool } from './connection/database.js'
import { createPostgresDriver } from './postgres-driver.js'
import { schemaText } from './schema/migration-text.js'
import { STEPS } from './schema/steps.js'

export type { PostgresAdapterOptions, PostgresSchemaOptions } from './adapter-options.js'
export type {
  PGliteDatabase,
  PostgresPool,
  PostgresQuery,
  PostgresResult,
  PostgresValue,
} from './connection/database.js'

/**
 * A store in PostgreSQL, over a `pg` Pool (or a Client, or anything with the same `query` and `connect`), or in PGlite.
 * Call `migrate()` once before anything else. The pool stays the caller's to configure and to end.
 *
 * @throws TypeError for a pool that is none, or an option that can't be one.
 */
export function postgresAdapter(
  pool: PostgresPool | PGliteDatabase,
  options?: PostgresAdapterOptions | null,
): StorageObjectStore {
  const { now, ...places } = checkAdapterOptions(pool, options)
  return createStore(createPostgresDriver(places), { now })
}

/**
 * What `migrate()` does, as SQL for a migration tool of your own. It may be run on any earlier version, and again.
 *
 * @throws TypeError for a schema that can't be one.
 */
export function postgresSchema(options?: PostgresSchemaOptions | null): string {
  return schemaText(STEPS, checkSchema('postgresSchema', options))
}
