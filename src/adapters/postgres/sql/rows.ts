import { StorageError } from '../../../core/errors.js'
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

type Kind = 'text' | 'number' | 'json' | 'date'

/**
 * The columns of an object in the order of {@link readObject}. A release appends its own: processes of the one before read the
 * results of its functions.
 */
const OBJECT_COLUMNS: Readonly<Record<string, Kind>> = {
  id: 'text',
  attempt_id: 'text',
  scope: 'text',
  bucket: 'text',
  key: 'text',
  status: 'text',
  route: 'text',
  filename: 'text',
  content_type: 'text',
  size: 'number',
  declared_size: 'number',
  e_tag: 'text',
  metadata: 'json',
  storage_key: 'text',
  upload_id: 'text',
  expires_at: 'date',
  created_at: 'date',
  updated_at: 'date',
  confirmed_at: 'date',
  deleted_at: 'date',
}

/** The columns of a leftover in the order of {@link readLeftover}. */
const LEFTOVER_VALUES: readonly (readonly [value: (row: string) => string, kind: Kind])[] = [
  ...['attempt_id', 'scope', 'bucket', 'key', 'storage_key', 'upload_id'].map(
    (column) => [(row: string) => `${row}.${column}`, 'text'] as const,
  ),
  [(row) => `${row}.since`, 'date'],
  [(row) => `${row}.writable_until`, 'date'],
  [(row) => `nullif(${row}.due_at, '${BEFORE_ALL_DATES}'::timestamptz)`, 'date'],
]

const asColumn = (value: string, kind: Kind) => (kind === 'date' ? milliseconds(value) : value)

/** In a JSON list numbers are strings, because a number of JavaScript can't hold every bigint. */
const asText = (value: string, kind: Kind) => (kind === 'text' ? value : `${asColumn(value, kind)}::text`)

/** Builds a JSON list of strings. One text costs a fraction of as many columns, whose names and types Postgres would send. */
const jsonList = (values: readonly string[]) => `pg_catalog.json_build_array(
      ${values.join(', ')}
    )::text`

const objectValues = (row: string) =>
  Object.entries(OBJECT_COLUMNS).map(([column, kind]) => [`${row}.${column}`, kind] as const)
const leftoverValues = (row: string) => LEFTOVER_VALUES.map(([value, kind]) => [value(row), kind] as const)

export const objectText = (row: string) => jsonList(objectValues(row).map((value) => asText(...value)))

/** Selects a column of an object from its JSON list. */
export const objectValueIn = (list: string, column: string) =>
  `(${list}::json->>${Object.keys(OBJECT_COLUMNS).indexOf(column)})`

export const leftoverText = (row: string) => jsonList(leftoverValues(row).map((value) => asText(...value)))

/**
 * Returns the columns of an object. `row` is an alias or a composite value. Without metadata, that column is `NULL` and
 * Postgres does not read its value.
 */
export function objectColumns(row: string, { withMetadata } = { withMetadata: true }): string {
  return objectValues(row)
    .map(([value, kind]) => (kind === 'json' && !withMetadata ? 'NULL::json' : asColumn(value, kind)))
    .join(', ')
}

export const leftoverColumns = (row: string) =>
  leftoverValues(row)
    .map((value) => asColumn(...value))
    .join(', ')

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
/** @throws StorageError for a value that the driver has parsed, which loses digits of its numbers. */
function metadataOrNull(text: string | null | undefined): ObjectMetadata | null {
  if (text == null) return null
  if (typeof text === 'string') return parseJson(text) as ObjectMetadata
  const message =
    '`pool` must return values as text. pg-native does not: see docs/your-orm.md#refused-handles.'
  throw new StorageError('DATABASE_UNAVAILABLE', { message, retryable: false })
}
