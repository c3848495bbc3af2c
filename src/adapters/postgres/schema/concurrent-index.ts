import type { Database } from '../connection/database.js'
import { sqlState, wasRolledBack } from '../connection/failures.js'
import { statement } from '../statements/statement.js'
import { concurrentIndexDoneBlock, concurrentIndexText, dropIndexText } from './migration-text.js'
import type { SchemaName } from './schema-name.js'
import { readState } from './state.js'
import type { ConcurrentIndexStep } from './steps.js'

const PAUSE = 200
/** Between deciding to build and holding the lock of the table passes a moment; longer than this, the builder is gone. */
const CLAIM_SECONDS = 5

/**
 * One step that is an index build outside a transaction, done by one of many processes.
 *
 * The build waits for every transaction that began before it. So nobody may wait for the builder inside a transaction:
 * the two would wait for each other. Whoever is not the builder looks from outside, again and again. A build shows
 * itself by the lock that it holds on its table; the moment before that is bridged by a claim in `schema_version`.
 * Nothing here is tied to a connection, so it works through a pooler, and a builder that died leaves nothing locked.
 * Should two build all the same, the database ends one of them, who then looks again.
 */
export async function buildConcurrentIndex(
  database: Database,
  schema: SchemaName,
  step: ConcurrentIndexStep,
): Promise<void> {
  const look = statement('index_state', INDEX_STATE, schema)
  const claim = statement('index_claim', CLAIM, schema)
  while ((await readState(database, schema)).version < step.version) {
    const [row] = await database.run(look, [step.index, step.table])
    const [exists, valid, busy] = (row ?? []).map((value) => value === 't')
    try {
      if (exists && valid) {
        await database.script(concurrentIndexDoneBlock(step, schema))
      } else if (!busy && (await database.run(claim, [CLAIM_SECONDS])).length > 0) {
        if (exists) await database.script(dropIndexText(step, schema))
        await database.script(concurrentIndexText(step, schema))
        continue
      }
    } catch (error) {
      if (!wasRolledBack(error) && sqlState(error) !== DUPLICATE) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

/** The index was made by another in the same moment. */
const DUPLICATE = '42P07'

/** Whether the index is there, whether it is complete, and whether somebody builds on its table right now. */
const INDEX_STATE = `
  SELECT i.indexrelid IS NOT NULL, coalesce(i.indisvalid, false), EXISTS (
    SELECT FROM pg_catalog.pg_locks l
    WHERE l.locktype = 'relation' AND l.relation = t.oid AND l.mode = 'ShareUpdateExclusiveLock'
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
  )
  FROM pg_catalog.pg_class t
  JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace AND n.nspname = {schema-literal}
  LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = $1
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
  WHERE t.relname = $2`

/** Answers a row to one process at a time. */
const CLAIM = `
  UPDATE {schema}.schema_version v SET build_claimed_until = clock_timestamp() + make_interval(secs => $1)
  WHERE v.build_claimed_until IS NULL OR v.build_claimed_until < clock_timestamp()
  RETURNING v.version`
