import { dropTerms, unmarked } from './marks.js'
import { LEFTOVERS } from './tables.js'

/**
 * SQL that functions of the schema share. Calling another function would cost more than most of it does.
 *
 * Calls of polymorphic functions, and those that convert an argument, name pg_catalog, and operators get operands of
 * their exact types. Otherwise a better match in the search_path would run instead; setting that costs more.
 */

/** Settings that keep the plans of tables that were empty. Disabled sorts seem so expensive that `jit` would start. */
export const INDEX_PLANS = `SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET jit = off SET plan_cache_mode = force_generic_plan`

const IS_READ_COMMITTED = `current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')`
const IS_READ_ONLY = `current_setting('transaction_read_only')::boolean`

/**
 * Checks the transaction before a write reads anything. Only READ COMMITTED takes a new snapshot for every statement:
 * with one older than its lock, two scopes could own one key. On a standby, a write without anything to do would return
 * an outdated result.
 */
export const WRITABLE = `
  IF NOT ${IS_READ_COMMITTED} THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF ${IS_READ_ONLY} THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;`

/** The number of a key's advisory lock. Keys that share one only wait for each other. */
export const lockOf = (bucket: string, key: string) =>
  `pg_catalog.hashtextextended({schema-literal} || E'\\x1f' || ${bucket} || E'\\x1f' || ${key} COLLATE "C", 0)`

export const tryLock = (bucket: string, key: string) => `pg_try_advisory_xact_lock(${lockOf(bucket, key)})`

/**
 * Locks the key: until the end of the transaction, no other transaction changes its live rows. Postgres prepares every
 * expression again in each transaction, so this is a single one. A PERFORM would cost as much as the lock.
 */
export const LOCK_KEY = `
  locked := CASE
    WHEN ${IS_READ_COMMITTED} AND NOT ${IS_READ_ONLY}
    THEN pg_advisory_xact_lock(${lockOf('p_bucket', 'p_key')}) IS NOT NULL
  END;
  IF locked IS NULL THEN${WRITABLE}
  END IF;`

export const LIVE_ROWS = `
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;`

/** Reads the rows of the locked key: the active one into `a`, the pending one into `p`. A missing row is all NULL. */
export const READ_LIVE_ROWS = `
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;`

/** The columns of a leftover that follow from the row that ends. */
const LEFTOVER = Object.keys(LEFTOVERS.columns).filter((column) => column !== 'due_at')

/** Inserts the leftovers of rows that end, from a relation `row`, over one of an id that was wrongly used twice. `end` is that of the row. */
export const insertLeftovers = (row: string, from: string, end = 'NULL::timestamptz') => `
    INSERT INTO {schema}.leftovers (${LEFTOVER.join(', ')})
    SELECT ${LEFTOVER.map((column) => (column === 'readable_until' ? end : leftoverValue(row, column))).join(', ')} ${from}
    ON CONFLICT (attempt_id) DO UPDATE SET
      ${[...LEFTOVER.slice(1), 'due_at'].map((column) => `${column} = excluded.${column}`).join(', ')}`

function leftoverValue(row: string, column: string): string {
  if (column === 'since') return 'p_now'
  const value = `${row}.${column}`
  return column === 'writable_until' ? unmarked(value) : value
}

/** Leaves behind what a row that has ended may have in the bucket, and drops its terms. The end of an active row is in `a_end`. */
export const leaveBehind = (row: 'a' | 'p') => `
  IF ${row}.storage_key IS NOT NULL OR ${row}.upload_id IS NOT NULL THEN${insertLeftovers(row, '', row === 'a' ? 'a_end' : undefined)};
  END IF;${dropTerms(row)}`

/**
 * Identifies an object in the queue of events. The number of a key's lock has only 64 bits and a known seed: a client
 * could choose a key with the number of another owner's, and hold up or receive its events.
 */
export const digestOf = (bucket: string, key: string) =>
  `pg_catalog.encode(pg_catalog.substring(pg_catalog.sha256(pg_catalog.convert_to(
      pg_catalog.length(${bucket})::text || ' ' || ${bucket} || ${key}, 'UTF8')), 1, 16), 'hex')::uuid`
