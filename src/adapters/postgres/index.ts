import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { lateDriver } from '../shared/late-driver.js'
import { A_POOL, checkAdapterOptions, checkSchemaOptions, isSource } from './options.js'
import type { PostgresAdapterOptions, PostgresSchemaOptions } from './options.js'
import type { PostgresHandle, PostgresSource } from './connection/database.js'
import { schemaText } from './migrate/text.js'
import { SCHEMA } from './sql/schema.js'

export type { PostgresAdapterOptions, PostgresSchemaOptions } from './options.js'
export type {
  PGliteDatabase,
  PostgresHandle,
  PostgresPool,
  PostgresQuery,
  PostgresResult,
  PostgresSource,
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
 * Instead of a pool, pass a function that returns it, if it opens later or if each request has its own, as in workers. Each call asks
 * it once; calls reject with `DATABASE_UNAVAILABLE` until it returns a pool.
 *
 * @throws TypeError for an invalid pool or option.
 */
export function postgresAdapter(
  pool: PostgresHandle | PostgresSource,
  options?: PostgresAdapterOptions | null,
): StorageObjectStore {
  const { now, open } = checkAdapterOptions(options)
  const driver = isSource(pool)
    ? lateDriver({
        find: pool,
        notOpen: 'There is no pool yet: the function passed to postgresAdapter returned none.',
        open: (found) => open(found, `the function must return ${A_POOL}`),
      })
    : open(pool, `pool must be ${A_POOL}, or a function that returns one of them`)
  return createStore(driver, { now })
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
