import { StorageError } from '../../../core/errors.js'
import { parseJson } from '../../../core/json.js'
import type { Leftover, ObjectMetadata, ObjectStatus, StorageObject } from '../../../core/store/records.js'
import type { TextRow } from '../connection/database.js'
import { columnsOf, LEFTOVERS, OBJECTS } from './tables.js'

/** Converts a date to whole milliseconds since 1970, whatever the time zone and date style of the session. */
export const milliseconds = (date: string) => `(date_part('epoch', ${date}) * 1000::float8)::bigint`

/** Sorts before every date. As `due_at` it marks a leftover that was never put off. */
export const BEFORE_ALL_DATES = '-infinity'

type Value = readonly [value: string, type: string]

const asColumn = ([value, type]: Value) => (type.startsWith('timestamp') ? milliseconds(value) : value)

/** In a JSON list numbers are strings, because a number of JavaScript can't hold every bigint. */
const asText = (value: Value) => (/^(?:text|uuid)/.test(value[1]) ? value[0] : `${asColumn(value)}::text`)

/** Builds a JSON list of strings. One text costs a fraction of as many columns, whose names and types Postgres would send. */
const jsonList = (values: readonly Value[]) => `pg_catalog.json_build_array(
      ${values.map(asText).join(', ')}
    )::text`

/** The columns of an object in the order of {@link readObject}. A release appends its own: older processes read them. */
const OBJECT_COLUMNS = columnsOf(OBJECTS).filter(([column]) => column !== 'writable_until')
const objectValues = (row: string) =>
  OBJECT_COLUMNS.map(([column, type]): Value => [`${row}.${column}`, type])

export const objectText = (row: string) => jsonList(objectValues(row))

export const objectValueIn = (list: string, column: string) =>
  `(${list}::json->>${OBJECT_COLUMNS.findIndex(([name]) => name === column)})`

/** Returns the columns of an object. `row` is an alias or a composite value. `NULL` keeps metadata from being read. */
export function objectColumns(row: string, { withMetadata } = { withMetadata: true }): string {
  return objectValues(row)
    .map((value) => (value[1] === 'json' && !withMetadata ? 'NULL::json' : asColumn(value)))
    .join(', ')
}

/** The columns of a leftover in the order of {@link readLeftover}. */
const leftoverValues = (row: string) =>
  columnsOf(LEFTOVERS).map(([column, type]): Value => {
    const value = `${row}.${column}`
    return [column === 'due_at' ? `nullif(${value}, '${BEFORE_ALL_DATES}'::timestamptz)` : value, type]
  })

export const leftoverText = (row: string) => jsonList(leftoverValues(row))
export const leftoverColumns = (row: string) => leftoverValues(row).map(asColumn).join(', ')

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
    bucket: row[1]!,
    key: row[2]!,
    storageKey: row[3]!,
    uploadId: row[4]!,
    since: readDate(row[5]),
    writableUntil: readDate(row[6]),
    scope: row[7]!,
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
