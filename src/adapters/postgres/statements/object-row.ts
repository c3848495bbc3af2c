import { parseJson } from '../../../core/json.js'
import type { Leftover, ObjectMetadata, ObjectStatus, StorageObject } from '../../../core/store/records.js'
import type { TextRow } from '../connection/database.js'

/**
 * Converts a date to whole milliseconds since 1970, independent of the time zone and date style of the session. A
 * double holds the microseconds of the year 9999 to within a few hundredths of a millisecond.
 */
export const milliseconds = (date: string) => `(date_part('epoch', ${date}) * 1000::float8)::bigint`

/** Sorts before every date. As `due_at` it marks a leftover that was never put off. */
export const BEFORE_ALL_DATES = '-infinity'

const TEXT_COLUMNS = [
  'id',
  'attempt_id',
  'scope',
  'bucket',
  'key',
  'status',
  'route',
  'filename',
  'content_type',
  'size',
  'declared_size',
  'e_tag',
  'metadata',
  'storage_key',
  'upload_id',
]
const DATE_COLUMNS = ['expires_at', 'created_at', 'updated_at', 'confirmed_at', 'deleted_at']

/**
 * Returns the columns of a row in the order of {@link readObject}. `row` is an alias or a composite value. Without
 * metadata, that column is `NULL` and Postgres does not read its value.
 */
export function objectColumns(row: string, { withMetadata } = { withMetadata: true }): string {
  const textColumn = (column: string) =>
    column === 'metadata' && !withMetadata ? 'NULL::json' : `${row}.${column}`
  return [
    ...TEXT_COLUMNS.map(textColumn),
    ...DATE_COLUMNS.map((column) => milliseconds(`${row}.${column}`)),
  ].join(', ')
}

/** Reads the record whose columns start at this index. Returns `null` if its id is `NULL`. */
export function readObject(row: TextRow, from = 0): StorageObject | null {
  const id = row[from] ?? null
  if (id === null) return null
  return {
    id,
    attemptId: row[from + 1]!,
    scope: row[from + 2]!,
    bucket: row[from + 3]!,
    key: row[from + 4]!,
    status: row[from + 5] as ObjectStatus,
    route: row[from + 6]!,
    filename: row[from + 7]!,
    contentType: row[from + 8]!,
    size: numberOrNull(row[from + 9]),
    declaredSize: numberOrNull(row[from + 10]),
    eTag: row[from + 11]!,
    metadata: metadataOrNull(row[from + 12]),
    storageKey: row[from + 13]!,
    uploadId: row[from + 14]!,
    expiresAt: dateOrNull(row[from + 15]),
    createdAt: readDate(row[from + 16]),
    updatedAt: readDate(row[from + 17]),
    confirmedAt: dateOrNull(row[from + 18]),
    deletedAt: dateOrNull(row[from + 19]),
  }
}

export function readObjects(rows: readonly TextRow[]): StorageObject[] {
  return rows.map((row) => readObject(row)!)
}

/** The columns of a leftover in the order of {@link readLeftover}. */
export const LEFTOVER_COLUMNS = [
  ...['l.attempt_id', 'l.scope', 'l.bucket', 'l.key', 'l.storage_key', 'l.upload_id'],
  ...['l.since', 'l.writable_until', `nullif(l.due_at, '${BEFORE_ALL_DATES}'::timestamptz)`].map(
    milliseconds,
  ),
].join(', ')

export function readLeftover(row: TextRow): Leftover {
  return {
    attemptId: row[0]!,
    scope: row[1]!,
    bucket: row[2]!,
    key: row[3]!,
    storageKey: row[4]!,
    uploadId: row[5]!,
    since: readDate(row[6]),
    writableUntil: readDate(row[7]),
    dueAt: dateOrNull(row[8]),
  }
}

/** @throws RangeError for an integer that a number can't hold exactly, instead of rounding it silently. */
export function readNumber(text: string | null | undefined): number {
  const value = Number(text ?? NaN)
  if (!Number.isSafeInteger(value))
    throw new RangeError(`The database returned ${text}, which is not a safe integer.`)
  return value
}

const numberOrNull = (text: string | null | undefined) => (text == null ? null : readNumber(text))
export const readDate = (text: string | null | undefined) => new Date(readNumber(text))
const dateOrNull = (text: string | null | undefined) => (text == null ? null : readDate(text))
const metadataOrNull = (text: string | null | undefined) =>
  text == null ? null : (parseJson(text) as ObjectMetadata)
