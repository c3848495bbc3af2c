import type { QuotaLimits } from '../../../core/store/driver.js'
import type { TextRow } from '../connection/database.js'
import { type SchemaName, versionedStatement } from './statement.js'
import { ARGUMENTS, type Argument } from './arguments.js'
import { tryLock } from './fragments.js'
import { objectColumns, readNumber } from './rows.js'

/**
 * The writes. Each calls one function of the schema, so each is one round trip and one transaction.
 *
 * Those that can be batched first try to lock their keys. Trying never waits, so a key that another transaction holds
 * delays only its own writes.
 */
export type WriteStatements = ReturnType<typeof writeStatements>

export function writeStatements(schema: SchemaName) {
  const named = (name: string, text: string) => versionedStatement(name, text, schema)
  const callOf = (name: string, types: readonly string[]) =>
    `{schema}.${name}(${types.map((type, index) => `$${index + 1}::${type}`).join(', ')})`
  const typesOf = (list: readonly Argument<never>[]) => list.map(({ type }) => type)
  /** Calls a function that returns a `WriteResult`. */
  const call = (name: string, list: readonly Argument<never>[]) =>
    named(name, `SELECT ${callOf(name, typesOf(list))}`)
  /** The same, and a statement that returns NULL instead of waiting if another transaction holds a key with one of these names. */
  const tryOrCall = (name: string, list: readonly Argument<never>[], ...names: readonly string[]) => {
    const at = (argument: string) => `$${list.findIndex(({ name }) => name === argument) + 1}::text`
    const tries = names.map((key) => tryLock(at('bucket'), at(key))).join(' AND ')
    return {
      try: named(`try_${name}`, `SELECT CASE WHEN ${tries} THEN ${callOf(name, typesOf(list))} END`),
      wait: call(name, list),
    }
  }
  const rows = (name: string, columns: string, types: readonly string[]) =>
    named(name, `SELECT ${columns} FROM ${callOf(name, types)} r`)

  return {
    reserve: tryOrCall('reserve_v1', ARGUMENTS.reserve, 'key'),
    confirm: tryOrCall('confirm_v1', ARGUMENTS.confirm, 'key'),
    batch: rows('write_batch_v2', 'r.place, r.answer', ['text', 'json']),
    setUploadId: rows(
      'set_upload_id_v1',
      `r.outcome, ${objectColumns('(r.obj)')}`,
      typesOf(ARGUMENTS.setUploadId),
    ),
    update: call('update_v1', ARGUMENTS.update),
    transfer: call('transfer_v1', ARGUMENTS.transfer),
    adopt: tryOrCall('adopt_v1', ARGUMENTS.adopt, 'key', 'storage_key'),
    adoptBatch: rows('adopt_batch_v1', 'r.place, r.answer', ['text', 'json']),
    // A function with a single composite result returns it as a row.
    release: rows('release_v1', objectColumns('r'), typesOf(ARGUMENTS.release)),
    remove: rows('remove_v2', objectColumns('r'), typesOf(ARGUMENTS.remove)),
    purgeExpired: rows('purge_expired_v1', objectColumns('r'), ['text', 'timestamptz', 'int', 'timestamptz']),
    purgeDeleted: rows('purge_deleted_v2', 'r.scope, r.dropped', ['text', 'timestamptz', 'int']),
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
  /** As the driver's method returns it. */
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

/** Reads the result of a write that was refused. Without a quota, it can't exceed one. */
export function readRefusal<Refusal extends { readonly outcome: string }>(
  { outcome, used, reserved, requested }: WriteResult,
  quota?: QuotaLimits,
): Refusal {
  const excess = (outcome === 'maxBytes' || outcome === 'maxFiles') && {
    max: quota?.[outcome] ?? 0,
    used: readNumber(used),
    reserved: readNumber(reserved),
    requested: readNumber(requested),
  }
  return { outcome, ...excess } as Refusal
}
