import type { QuotaLimits } from '../../../core/store/driver.js'
import type { TextRow } from '../connection/database.js'
import { ARGUMENTS, type Argument } from './arguments.js'
import { tryLock } from './fragments.js'
import { milliseconds, objectColumns, readNumber } from './rows.js'

const callOf = (name: string, types: readonly string[]) =>
  `{schema}.${name}(${types.map((type, index) => `$${index + 1}::${type}`).join(', ')})`
const typesOf = (list: readonly Argument<never>[]) => list.map(({ type }) => type)
/** Calls a function that returns a `WriteResult`. */
const resultOf = (name: string, list: readonly Argument<never>[]) => `SELECT ${callOf(name, typesOf(list))}`
const rowsOf = (name: string, columns: string, types: readonly string[]) =>
  `SELECT ${columns} FROM ${callOf(name, types)} r`

/** A row with its end, which a write may have changed since the statement began. */
const RETURNED = objectColumns('(r.obj)', { end: 'r.ends' })

/** The writes. Each calls one function of the schema, so each is one round trip and one transaction. */
export const WRITES = {
  reserve: resultOf('reserve_v2', ARGUMENTS.reserve),
  confirm: resultOf('confirm_v2', ARGUMENTS.confirm),
  batch: rowsOf('write_batch_v2', 'r.place, r.answer', ['text', 'json']),
  setUploadId: rowsOf(
    'set_upload_id_v1',
    `r.outcome, ${objectColumns('(r.obj)', { end: null })}`,
    typesOf(ARGUMENTS.setUploadId),
  ),
  update: resultOf('update_v1', ARGUMENTS.update),
  transfer: resultOf('transfer_v1', ARGUMENTS.transfer),
  adopt: resultOf('adopt_v1', ARGUMENTS.adopt),
  adoptBatch: rowsOf('adopt_batch_v1', 'r.place, r.answer', ['text', 'json']),
  release: rowsOf('release_v2', RETURNED, typesOf(ARGUMENTS.release)),
  remove: rowsOf('remove_v2', RETURNED, typesOf(ARGUMENTS.remove)),
  purgeExpired: rowsOf(
    'purge_expired_v2',
    `${milliseconds('r.first')}, ${objectColumns('(r.ended)', { end: null })}`,
    ['text', 'timestamptz', 'int', 'timestamptz', 'timestamptz'],
  ),
  purgeDeleted: rowsOf('purge_deleted_v2', `${milliseconds('r.first')}, r.dropped`, [
    ...['uuid', 'text', 'timestamptz', 'int', 'timestamptz', 'timestamptz'],
  ]),
  keep: `SELECT ${callOf('keep_v1', ['text', 'uuid[]', 'uuid[]', 'timestamptz'])}`,
  endTemporary: `SELECT r.object FROM ${callOf('end_temporary_v1', ['json', 'text', 'timestamptz', 'timestamptz'])} AS r(object)`,
  reject: rowsOf('reject_v1', `${milliseconds('r.first')}, ${RETURNED}`, [
    ...typesOf(ARGUMENTS.reject),
    'timestamptz',
  ]),
  forgetLeftover: 'DELETE FROM {schema}.leftovers l WHERE l.attempt_id = $1 RETURNING l.attempt_id',
  // Returns the scope, whose marks it lowers.
  deferLeftover: `UPDATE {schema}.leftovers l SET due_at = $2, readable_until = coalesce($4::timestamptz, l.readable_until)
     WHERE l.attempt_id = $1 AND ($3::timestamptz IS NULL OR l.due_at <= $3) RETURNING l.scope`,
}

/** Makes a write, or returns NULL instead of waiting if another transaction holds a key with one of these names. */
const tryTo = (write: string, list: readonly Argument<never>[], ...names: readonly string[]) => {
  const at = (argument: string) => `$${list.findIndex(({ name }) => name === argument) + 1}::text`
  const tries = names.map((key) => tryLock(at('bucket'), at(key))).join(' AND ')
  return `SELECT CASE WHEN ${tries} THEN ${callOf(write, typesOf(list))} END`
}

/** The writes that can be batched. Trying never waits, so a key that another transaction holds delays only its own writes. */
export const TRIES = {
  reserve: tryTo('reserve_v2', ARGUMENTS.reserve, 'key'),
  confirm: tryTo('confirm_v2', ARGUMENTS.confirm, 'key'),
  adopt: tryTo('adopt_v1', ARGUMENTS.adopt, 'key', 'storage_key'),
}

/** The JSON that most functions return. Numbers are strings, because a number can't hold every bigint. */
export interface WriteResult {
  readonly outcome: string
  /** The row in the order of `readObject`, if there is one that the caller doesn't know. */
  readonly object?: TextRow
  /** Whether an earlier confirm made the row active. */
  readonly isRepeat?: boolean
  /** The active row that a confirm replaced. */
  readonly replaced?: TextRow
  /** The other scope whose expired reservation was replaced. */
  readonly otherScope?: string
  /** The sum that the limit was compared with. */
  readonly used?: string
  /** The part of it that unfinished uploads hold. */
  readonly reserved?: string
  /** How much the sum would have grown. */
  readonly requested?: string
  /** Why the attempt was rejected. */
  readonly reason?: string | null
  /** The rows that are kept, in the order of the objects. */
  readonly objects?: readonly TextRow[]
  /** The indexes of objects: of those that name no row, or of two that name the same. */
  readonly indexes?: readonly number[]
  readonly index?: number
  readonly earlier?: number
  /** The number of entries or bytes that the metadata would have had. */
  readonly got?: string
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
