import { StorageError } from '../../../core/errors.js'
import { parseJson } from '../../../core/json.js'
import type { Leftover, ObjectMetadata, StorageObject } from '../../../core/store/records.js'
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

/** A field of a record and how its column is read. */
type Field = readonly [name: string, read: (text: string | null | undefined) => unknown]

const camelCase = (column: string) => column.replace(/_[a-z]/g, ([, letter]) => letter!.toUpperCase())

/** Returns the fields of a record by its columns. Values that are not there, as in the events of an older release, are `null`. */
const fieldsOf = (columns: readonly (readonly [column: string, type: string])[]) =>
  columns.map(([column, type]): Field => {
    const kind = Object.keys(READERS).find((start) => type.startsWith(start))!
    return [camelCase(column), READERS[kind]!]
  })

function readRecord(fields: readonly Field[], row: TextRow, from: number): object {
  const record: Record<string, unknown> = {}
  for (let index = 0; index < fields.length; index++) {
    const [name, read] = fields[index]!
    record[name] = read(row[from + index])
  }
  return record
}

type Writable<Row> = { -readonly [Name in keyof Row]: Row[Name] }

/** Reads the object whose columns start at this index. Returns `null` if its id is `NULL`. */
export function readObject(row: TextRow, from = 0): StorageObject | null {
  if (row[from] == null) return null
  const object = readRecord(OBJECT_FIELDS, row, from) as Writable<StorageObject>
  object.temporaryUntil = null
  object.arrivedAt = null
  if (object.status === 'active') {
    object.temporaryUntil = object.expiresAt
    object.expiresAt = null
  } else if (object.status === 'pending') {
    object.arrivedAt = object.confirmedAt
    object.confirmedAt = null
  }
  return object
}

export function readObjects(rows: readonly TextRow[]): StorageObject[] {
  return rows.map((row) => readObject(row)!)
}

export const readLeftover = (row: TextRow) => readRecord(LEFTOVER_FIELDS, row, 0) as Leftover

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

/** By the beginning of a column's type. */
const READERS: Readonly<Record<string, Field[1]>> = {
  text: (text) => text ?? null,
  uuid: (text) => text ?? null,
  bigint: numberOrNull,
  json: metadataOrNull,
  timestamp: dateOrNull,
}

const OBJECT_FIELDS = fieldsOf(OBJECT_COLUMNS)
const LEFTOVER_FIELDS = fieldsOf(LEFTOVER_COLUMNS)
