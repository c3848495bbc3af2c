import type { Database } from '../connection/database.js'
import { sqlState, wasRolledBack } from '../connection/failures.js'
import { type SchemaName, statement } from '../sql/statement.js'
import type { Index } from '../sql/tables.js'
import { concurrentText, dropIndexText, type Addition } from './additions.js'
import { TOLD_VERSION } from './version.js'

const POLL_MILLISECONDS = 200
/** Covers the time between winning the claim and holding the table's lock. After that the builder counts as dead. */
const CLAIM_SECONDS = 5
/** SQLSTATE of an index that another process created at the same moment. */
const DUPLICATE_TABLE = '42P07'

/**
 * Builds an index outside a transaction, in one of any number of processes, unless it exists.
 *
 * CREATE INDEX CONCURRENTLY waits for every earlier transaction, so a process that waited for the builder in one would
 * deadlock with it. The others poll: an invalid index and a lock on its table show a running build, and a claim in
 * `schema_version` covers the moment before. Nothing is tied to a connection, so this works through a pooler, and a
 * builder that dies leaves nothing locked.
 */
export async function buildConcurrentIndex(
  database: Database,
  schema: SchemaName,
  index: Index,
  addition: Addition,
): Promise<void> {
  const readState = statement('index_state', INDEX_STATE, schema)
  const claim = statement('index_claim', CLAIM, schema)
  const release = statement('index_release', RELEASE, schema)

  for (;;) {
    try {
      const state = await indexState()
      // A table that is missing is created together with its indexes.
      if (!state || state.isValid) return
      if (!state.isBusy && (await buildUnlessClaimed())) continue
    } catch (error) {
      if (!wasRolledBack(error) && sqlState(error) !== DUPLICATE_TABLE) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS))
  }

  async function indexState() {
    const [row] = await database.run(readState, [index.name, addition.table])
    if (!row) return null
    const [exists, isValid, isBusy] = row.map((value) => value === 't')
    return { exists, isValid, isBusy }
  }

  /** Returns whether this process built the index. */
  async function buildUnlessClaimed(): Promise<boolean> {
    const [token] = await database.run(claim, [CLAIM_SECONDS])
    if (!token) return false
    try {
      // Another process may have built the index, or started to, since the last look.
      const state = await indexState()
      if (!state || state.isValid || state.isBusy) return false
      if (state.exists) await database.script(dropIndexText(index, schema))
      await database.script(concurrentText(addition, schema))
      return true
    } finally {
      // Otherwise the next index would wait for the claim to expire. A failure is therefore harmless.
      await database.run(release, token).catch(() => {})
    }
  }
}

/**
 * Returns whether the index exists, is complete, and may be being built now. Vacuum takes the same lock on the table,
 * so the lock means something only while the index is incomplete.
 */
const INDEX_STATE = `
  SELECT i.indexrelid IS NOT NULL, coalesce(i.indisvalid, false), coalesce(NOT i.indisvalid, false) AND EXISTS (
    SELECT FROM pg_catalog.pg_locks l
    WHERE l.locktype = 'relation' AND l.relation = t.oid AND l.mode = 'ShareUpdateExclusiveLock'
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
  )
  FROM pg_catalog.pg_class t
  JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace AND n.nspname = {schema-literal}
  LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = $1
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
  WHERE t.relname = $2`

/** Identifies a claim by its end in microseconds, a form that does not depend on settings of the session. */
const TOKEN = `(date_part('epoch', v.build_claimed_until) * 1000000::float8)::bigint`

/** Returns a token to one process at a time, and no row to others. Restores the row of the table if it is missing. */
const CLAIM = `
  INSERT INTO {schema}.schema_version AS v (version, min_compatible, build_claimed_until)
  SELECT (${TOLD_VERSION}), 0, clock_timestamp() + make_interval(secs => $1)
  ON CONFLICT (only_row) DO UPDATE SET build_claimed_until = excluded.build_claimed_until
  WHERE v.build_claimed_until IS NULL OR v.build_claimed_until < clock_timestamp()
  RETURNING ${TOKEN}`

/** Ends this claim, and not that of a process that claimed after this one had expired. */
const RELEASE = `
  UPDATE {schema}.schema_version v SET build_claimed_until = NULL WHERE ${TOKEN} = $1 RETURNING v.version`
