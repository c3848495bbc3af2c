import { OptionChecks } from '../../core/option-checks.js'
import { shownHandle } from '../../core/store/validation/checks.js'
import type { StoreDriver } from '../../core/store/driver.js'
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
import { withTimeLimit } from './connection/time-limit.js'
import { createPostgresDriver } from './driver.js'
import { schemaName } from './sql/statement.js'

const DEFAULT_SCHEMA = 'svc_db'

export interface PostgresSchemaOptions {
  /**
   * The schema for the tables and functions of the library, and nothing else. At most 63 bytes of UTF-8. Default
   * `svc_db`.
   */
  readonly schema?: string | null | undefined
  /**
   * Whether changes of active objects are recorded as events, by every process that uses the schema. Running `migrate()`
   * or the SQL of `postgresSchema()` stores it in the database. Default: as it is there, at first off. Before you turn
   * events on, roles other than the owner need `SELECT`, `INSERT`, `UPDATE` and `DELETE` on the table `events`.
   */
  readonly events?: boolean | null | undefined
}

export interface PostgresAdapterOptions extends PostgresSchemaOptions {
  /**
   * A pool of a replica, which serves `listByScope` and `countByScope` and may lag behind. Default: the pool itself.
   */
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

/** Checks the options. `open` creates the driver of a pool. @throws TypeError that names the option, its value and what is allowed. */
export function checkAdapterOptions(options: unknown): {
  readonly now: (() => Date) | null
  /** @param message What the TypeError says about a value that is no pool. */
  readonly open: (pool: unknown, message: string) => StoreDriver
} {
  const caller = 'postgresAdapter'
  const { schema, events } = checkSchemaOptions(caller, options)
  const { readPool, namedStatements, now } = (options ?? {}) as PostgresAdapterOptions
  const checks = new OptionChecks(caller)
  const named = checks.boolean('namedStatements', namedStatements) ?? true
  const replica =
    readPool == null ? null : withTimeLimit(databaseOf(readPool, `readPool must be ${A_POOL}`, named))
  return {
    now: checks.function('now', now),
    open(pool, message) {
      const database = withTimeLimit(databaseOf(pool, message, named))
      const readDatabase = replica ?? database
      return createPostgresDriver({ database, readDatabase, schema, events })
    },
  }
}

/** @throws TypeError that names the option, its value and what is allowed. */
export function checkSchemaOptions(caller: string, options: unknown) {
  const checks = new OptionChecks(caller)
  const given = (options ?? {}) as PostgresSchemaOptions
  checks.options(given)
  return {
    schema: schemaName(caller, given.schema ?? DEFAULT_SCHEMA),
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

export const A_POOL = 'a pool or client of pg, an instance of postgres (postgres.js), or a PGlite database'

/** An instance of postgres.js and one of knex are functions with members, and a class has a prototype with methods. */
export function isSource(pool: unknown): pool is PostgresSource {
  return (
    typeof pool === 'function' &&
    Object.keys(pool).length === 0 &&
    !('query' in (Object(pool.prototype) as object))
  )
}
