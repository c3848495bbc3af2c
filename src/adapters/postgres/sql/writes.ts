import type { Statement, TextRow } from '../connection/database.js'
import type { SchemaName } from './schema-name.js'
import { objectColumns } from './rows.js'
import { versionedStatement } from './statement.js'

/** The writes. Each calls one function of the schema, so each is one round trip and one transaction. */
export type WriteStatements = ReturnType<typeof writeStatements>

export function writeStatements(schema: SchemaName) {
  const named = (name: string, text: string): Statement => versionedStatement(name, text, schema)
  const callOf = (name: string, types: string) => {
    const values = types.split(' ').map((type, index) => `$${index + 1}::${type}`)
    return `{schema}.${name}(${values.join(', ')})`
  }
  const call = (name: string, types: string) => named(name, `SELECT ${callOf(name, types)}`)
  const rows = (name: string, columns: string, types: string) =>
    named(name, `SELECT ${columns} FROM ${callOf(name, types)} r`)

  return {
    // These two return a WriteResult.
    reserve: call(
      'reserve_v1',
      'uuid text text text bigint timestamptz text text text json text text boolean bigint bigint timestamptz',
    ),
    confirm: call('confirm_v1', 'text text uuid text bigint text text bigint timestamptz'),

    batch: rows('write_batch_v1', 'r.place, r.answer', 'text json'),
    setUploadId: rows(
      'set_upload_id_v1',
      `r.outcome, ${objectColumns('(r.obj)')}`,
      'text text uuid text timestamptz',
    ),
    // These three return a WriteResult too.
    update: call('update_v1', 'text text text uuid boolean text boolean text boolean json timestamptz'),
    transfer: call('transfer_v1', 'text text text text uuid bigint bigint timestamptz'),
    adopt: call(
      'adopt_v1',
      'uuid text text text text bigint timestamptz text text text text json timestamptz',
    ),
    adoptBatch: rows('adopt_batch_v1', 'r.place, r.answer', 'text json'),
    // A function with a single composite result returns it as a row.
    release: rows('release_v1', objectColumns('r'), 'text text uuid text text timestamptz'),
    remove: rows('remove_v2', objectColumns('r'), 'text text text uuid boolean timestamptz'),
    purgeExpired: rows('purge_expired_v1', objectColumns('r'), 'text timestamptz int timestamptz'),
    purgeDeleted: rows('purge_deleted_v2', 'r.scope, r.dropped', 'text timestamptz int'),
    forgetLeftover: named(
      'forget_leftover',
      'DELETE FROM {schema}.leftovers l WHERE l.attempt_id = $1 RETURNING l.attempt_id',
    ),
    deferLeftover: named(
      'defer_leftover',
      'UPDATE {schema}.leftovers l SET due_at = $2 WHERE l.attempt_id = $1 RETURNING l.attempt_id',
    ),
  }
}

/**
 * The JSON that the functions of most writes return. Numbers are strings, because a number can't hold every bigint.
 */
export interface WriteResult {
  readonly outcome: string
  /**
   * The row in the order of `readObject`. Omitted for a new attempt, which the caller knows, for a refusal, and if there
   * is none.
   */
  readonly object?: TextRow
  /** The other scope whose expired reservation was replaced. */
  readonly otherScope?: string
  /** The sum that the limit was compared with. */
  readonly used?: string
  /** The part of it that unfinished uploads hold. */
  readonly reserved?: string
  /** How much the sum would have grown. */
  readonly requested?: string
}

export function readWriteResult(text: string | null | undefined): WriteResult {
  if (text == null) throw new RangeError('A write function of the schema returned no result.')
  return JSON.parse(text) as WriteResult
}
