import { namesOf, type KnownNames } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { shownHandle } from '../../core/store/validation/checks.js'
import { lateDriver } from '../shared/late-driver.js'
import type {
  Database,
  PGliteDatabase,
  PostgresHandle,
  PostgresPool,
  PostgresSource,
  PostgresSql,
} from './connection/database.js'
import { pgDatabase } from './connection/pg-database.js'
import { pgliteDatabase } from './connection/pglite-database.js'
import { flawOf, postgresJsDatabase } from './connection/postgres-js-database.js'
import { withTimeLimit } from './connection/retries.js'
import { createPostgresDriver } from './driver.js'
import { indexMarksOf } from './index-marks.js'
import { schemaText } from './migrate/text.js'
import { SCHEMA } from './sql/schema.js'
import { schemaName } from './sql/statement.js'

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

export interface PostgresSchemaOptions {
  /** The schema for the library's tables and functions only. At most 63 bytes of UTF-8. Default `svc_db`. */
  readonly schema?: string | null | undefined
  /**
   * Whether changes of active objects are recorded as events, by every process that uses the schema. Running `migrate()`
   * or the SQL of `postgresSchema()` stores it in the database. Default: as it is there, at first off. Before you turn
   * events on, roles other than the owner need `SELECT`, `INSERT`, `UPDATE` and `DELETE` on the table `events`.
   */
  readonly events?: boolean | null | undefined
}

export interface PostgresAdapterOptions extends PostgresSchemaOptions {
  /** A pool of a replica, which serves `listByScope` and `countByScope` and may lag behind. Default: the pool. */
  readonly readPool?: PostgresHandle | null | undefined
  /**
   * Whether each connection prepares a statement once, under a name that starts with `svc_db_`. Default `true`. Set it
   * to `false` behind a pooler that switches connections between transactions and does not track prepared statements,
   * such as PgBouncer before 1.21 in transaction mode. postgres.js names its statements itself; this option, or
   * `prepare: false` of the instance, turns them off.
   */
  readonly namedStatements?: boolean | null | undefined
  /** The clock of the store. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

const SCHEMA_OPTIONS = { schema: true, events: true } as const satisfies Record<
  keyof PostgresSchemaOptions,
  true
>
const ADAPTER_NAMES = namesOf<PostgresAdapterOptions>({
  ...SCHEMA_OPTIONS,
  ...{ readPool: true, namedStatements: true, now: true },
})
const SCHEMA_NAMES = namesOf<PostgresSchemaOptions>(SCHEMA_OPTIONS)

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
 *
 * @example
 * import pg from 'pg'
 * import { postgresAdapter } from '@svc/db/postgres'
 *
 * const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
 * const store = postgresAdapter(pool)
 * await store.migrate()
 */
export function postgresAdapter(
  pool: PostgresHandle | PostgresSource,
  options?: PostgresAdapterOptions | null,
): StorageObjectStore {
  const { schema, events } = checkSchemaOptions('postgresAdapter', options, ADAPTER_NAMES)
  const { readPool, namedStatements, now } = options ?? {}
  const checks = new OptionChecks('postgresAdapter')
  const named = checks.boolean('namedStatements', namedStatements) ?? true
  const connect = (handle: unknown, message: string) => withTimeLimit(databaseOf(handle, message, named))
  const replica = readPool == null ? null : connect(readPool, `readPool must be ${A_POOL}`)
  const clock = checks.function('now', now)
  const open = (handle: unknown, message: string) => {
    const database = connect(handle, message)
    const marks = indexMarksOf(handle as object, schema.name, database.isPool ?? false)
    return createPostgresDriver({ database, readDatabase: replica ?? database, schema, events, marks })
  }
  const driver = isSource(pool)
    ? lateDriver({
        find: pool,
        notOpen: 'There is no pool yet: the function passed to postgresAdapter returned none.',
        open: (found) => open(found, `the function must return ${A_POOL}`),
      })
    : open(pool, `pool must be ${A_POOL}, or a function that returns one of them`)
  return createStore(driver, { now: clock })
}

/**
 * Returns the SQL of `migrate()` for your own migration tool, which runs it in one transaction. It upgrades a schema of
 * any earlier version and may run again. Unlike `migrate()`, it blocks writers while it builds an index. The comments
 * in the SQL name the statements that build large indexes beforehand.
 *
 * @throws TypeError for an invalid option.
 *
 * @example
 * import { writeFileSync } from 'node:fs'
 * import { postgresSchema } from '@svc/db/postgres'
 *
 * writeFileSync('migrations/0042-svc-db.sql', postgresSchema())
 */
export function postgresSchema(options?: PostgresSchemaOptions | null): string {
  const { schema, events } = checkSchemaOptions('postgresSchema', options, SCHEMA_NAMES)
  return schemaText(SCHEMA, schema, events)
}

/** @throws TypeError that names the option, its value and what is allowed. */
function checkSchemaOptions(
  caller: string,
  options: PostgresSchemaOptions | null | undefined,
  known: KnownNames,
) {
  const checks = new OptionChecks(caller)
  const given = checks.optionalOptions(options, known)
  return {
    schema: schemaName(caller, given.schema ?? 'svc_db'),
    events: checks.boolean('events', given.events),
  }
}

function databaseOf(pool: unknown, message: string, named: boolean): Database {
  const given = Object(pool) as Readonly<Record<string, unknown>>
  const has = (method: string) => typeof given[method] === 'function'
  if (has('unsafe') && has('typed')) {
    const flaw = flawOf(pool as PostgresSql)
    if (flaw !== null) throw new TypeError(`postgresAdapter: ${flaw}`)
    return postgresJsDatabase(pool as PostgresSql, { named })
  }
  if (has('query') && has('exec') && !has('connect')) return pgliteDatabase(pool as PGliteDatabase)
  // So have TypeORM's DataSource and QueryRunner, and pg-promise and slonik, with other parameters.
  if (has('query') && has('connect') && !('manager' in given) && !has('one')) {
    return pgDatabase(pool as PostgresPool, { named })
  }
  throw new TypeError(`postgresAdapter: ${message}: see docs/your-orm.md (got ${shownHandle(pool)}).`)
}

const A_POOL = 'a pool or client of pg, an instance of postgres (postgres.js), or a PGlite database'

/** An instance of postgres.js and one of knex are functions with members, and a class has a prototype with methods. */
function isSource(pool: unknown): pool is PostgresSource {
  return (
    typeof pool === 'function' &&
    Object.keys(pool).length === 0 &&
    !('query' in (Object(pool.prototype) as object))
  )
}
