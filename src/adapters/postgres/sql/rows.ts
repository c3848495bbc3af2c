import { StorageError } from '../../../core/errors.js'
import { parseJson } from '../../../core/json.js'
import type { Leftover, ObjectMetadata, ObjectStatus, StorageObject } from '../../../core/store/records.js'
import type { TextRow } from '../connection/database.js'
import { endByCall } from './marks.js'
import { columnsOf, LEFTOVERS, OBJECTS } from './tables.js'

/** Converts a date to whole milliseconds since 1970, whatever the time zone and date style of the session. */
export const milliseconds = (date: string) => `(date_part('epoch', ${date}) * 1000::float8)::bigint`

/** Sorts before every date. As `due_at` it marks a leftover that was never put off. */
export const BEFORE_ALL_DATES = '-infinity'
export const AFTER_ALL_DATES = 'infinity'

type Value = readonly [value: string, type: string]

const asColumn = ([value, type]: Value) => (type.startsWith('timestamp') ? milliseconds(value) : value)

/** In a JSON list numbers are strings, because a number of JavaScript can't hold every bigint. */
const asText = (value: Value) => (value[1].startsWith('text') ? value[0] : `${asColumn(value)}::text`)

/**
 * Builds a JSON list of strings. One text costs a fraction of as many columns, whose names and types Postgres would send.
 * json_build_array() takes half as long again, because it looks up the type of each value.
 */
const jsonList = (values: readonly Value[]) => `pg_catalog.to_json(ARRAY[
      ${values.map(asText).join(', ')}
    ])::text`

/** The columns of an object, in the order in which they are selected and read. A release appends its own: older processes read them. */
const OBJECT_COLUMNS = columnsOf(OBJECTS).filter(([column]) => column !== 'writable_until')
const LEFTOVER_COLUMNS = columnsOf(LEFTOVERS)

/**
 * The values of an object. Its end, see marks.ts, takes the place of `expires_at`, which is null in every row with an end. A separate column
 * would make every row of every list more expensive.
 */
const objectValues = (row: string, end: string | null) =>
  OBJECT_COLUMNS.map(([column, type]): Value => {
    const value = `${row}.${column}`
    return [end !== null && column === 'expires_at' ? `coalesce(${value}, ${end})` : value, type]
  })

/**
 * Builds the JSON list that `readObject` reads, by default of an object without an end. Metadata for which the condition doesn't
 * hold is `NULL`, and is not read.
 */
export const objectText = (row: string, end: string | null = null, metadataIf = 'true') =>
  jsonList(
    objectValues(row, end).map(([value, type]): Value => [
      type === 'json' && metadataIf !== 'true' ? `CASE WHEN ${metadataIf} THEN ${value} END` : value,
      type,
    ]),
  )

export const objectValueIn = (list: string, column: string) =>
  `(${list}::json->>${OBJECT_COLUMNS.findIndex(([name]) => name === column)})`

interface ColumnOptions {
  /** `false` keeps metadata from being read. */
  readonly withMetadata?: boolean
  /** The end of the row, see marks.ts. `null` if it can't have one. */
  readonly end?: string | null
}

/** Selects the columns of an object. `row` is an alias of `objects` or, if `end` is given, a composite value. */
export function objectColumns(
  row: string,
  { withMetadata = true, end = endByCall(row) }: ColumnOptions = {},
): string {
  return objectValues(row, end)
    .map((value) => (value[1] === 'json' && !withMetadata ? 'NULL::json' : asColumn(value)))
    .join(', ')
}

const leftoverValues = (row: string) =>
  LEFTOVER_COLUMNS.map(([column, type]): Value => {
    const value = `${row}.${column}`
    return [column === 'due_at' ? `nullif(${value}, '${BEFORE_ALL_DATES}'::timestamptz)` : value, type]
  })

export const leftoverText = (row: string) => jsonList(leftoverValues(row))
export const leftoverColumns = (row: string) => leftoverValues(row).map(asColumn).join(', ')

const camelCase = (column: string) => column.replace(/_[a-z]/g, ([, letter]) => letter!.toUpperCase())

/** Returns where the value of each field is in a row. */
const placesOf = <Field extends string>(columns: readonly (readonly [column: string, type: string])[]) =>
  Object.fromEntries(columns.map(([column], index) => [camelCase(column), index])) as Record<Field, number>

const OBJECT = placesOf<Exclude<keyof StorageObject, 'temporaryUntil' | 'arrivedAt'>>(OBJECT_COLUMNS)
const LEFTOVER = placesOf<keyof Leftover>(LEFTOVER_COLUMNS)

/**
 * Reads the object whose columns start at this index. Returns `null` if its id is `NULL`. Values that are not there, as in the events of an
 * older release, are `null`. Its fields are spelled out, because an object that grows field by field takes twice as long.
 */
export function readObject(row: TextRow, from = 0): StorageObject | null {
  const id = row[from + OBJECT.id]
  if (id == null) return null
  const status = row[from + OBJECT.status] as ObjectStatus
  const expiresAt = dateOrNull(row[from + OBJECT.expiresAt])
  const confirmedAt = dateOrNull(row[from + OBJECT.confirmedAt])
  return {
    id,
    attemptId: row[from + OBJECT.attemptId]!,
    scope: row[from + OBJECT.scope]!,
    bucket: row[from + OBJECT.bucket]!,
    key: row[from + OBJECT.key]!,
    status,
    route: row[from + OBJECT.route] ?? null,
    filename: row[from + OBJECT.filename] ?? null,
    contentType: row[from + OBJECT.contentType] ?? null,
    size: numberOrNull(row[from + OBJECT.size]),
    declaredSize: numberOrNull(row[from + OBJECT.declaredSize]),
    eTag: row[from + OBJECT.eTag] ?? null,
    metadata: metadataOrNull(row[from + OBJECT.metadata]),
    storageKey: row[from + OBJECT.storageKey] ?? null,
    uploadId: row[from + OBJECT.uploadId] ?? null,
    expiresAt: status === 'active' ? null : expiresAt,
    createdAt: readDate(row[from + OBJECT.createdAt]),
    updatedAt: readDate(row[from + OBJECT.updatedAt]),
    confirmedAt: status === 'pending' ? null : confirmedAt,
    deletedAt: dateOrNull(row[from + OBJECT.deletedAt]),
    temporaryUntil: status === 'active' ? expiresAt : null,
    arrivedAt: status === 'pending' ? confirmedAt : null,
  }
}

export function readObjects(rows: readonly TextRow[]): StorageObject[] {
  return rows.map((row) => readObject(row)!)
}

export function readLeftover(row: TextRow): Leftover {
  return {
    attemptId: row[LEFTOVER.attemptId]!,
    bucket: row[LEFTOVER.bucket]!,
    key: row[LEFTOVER.key]!,
    storageKey: row[LEFTOVER.storageKey] ?? null,
    uploadId: row[LEFTOVER.uploadId] ?? null,
    since: readDate(row[LEFTOVER.since]),
    writableUntil: readDate(row[LEFTOVER.writableUntil]),
    scope: row[LEFTOVER.scope] ?? null,
    dueAt: dateOrNull(row[LEFTOVER.dueAt]),
    readableUntil: dateOrNull(row[LEFTOVER.readableUntil]),
  }
}

/** @throws RangeError for an integer that a number can't hold exactly, instead of rounding it silently. */
export function readNumber(text: string | null | undefined): number {
  const value = Number(text ?? NaN)
  if (!Number.isSafeInteger(value))
    throw new RangeError(`The database returned ${text}, which is not a safe integer.`)
  return value
}

/** Reads a time that is the same in all rows, in milliseconds. `null` if there are none. */
export const readFirst = ([row]: readonly TextRow[], column: number) => numberOrNull(row?.[column])

/** Milliseconds of the first day of the year 1, the earliest that Postgres reads in the format of ISO 8601. */
const FIRST_YEAR = -62_135_596_800_000

/** Returns the time at which a look starts as a parameter. */
export const startText = (time: number) =>
  time < FIRST_YEAR ? BEFORE_ALL_DATES : new Date(time).toISOString()

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
