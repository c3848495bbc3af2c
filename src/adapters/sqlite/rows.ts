import { parseJson } from '../../core/json.js'
import type { TrackedRow } from '../../core/store/lifecycle/change.js'
import type { Leftover, ObjectMetadata, ObjectStatus, StorageObject } from '../../core/store/records.js'
import type { Cells } from './connection/statement.js'

/** The columns of an object, in the order in which they are selected and read. */
const OBJECT_COLUMNS = [
  ...['id', 'attempt_id', 'scope', 'bucket', 'key', 'status', 'route', 'filename', 'content_type'],
  ...['size', 'declared_size', 'e_tag', 'metadata', 'storage_key', 'upload_id'],
  ...[
    'expires_at',
    'created_at',
    'updated_at',
    'confirmed_at',
    'deleted_at',
    'temporary_until',
    'arrived_at',
  ],
]
export const TRACKED_COLUMNS = [...OBJECT_COLUMNS, 'writable_until', 'temporary_seconds', 'check_seconds']

export const OBJECT = OBJECT_COLUMNS.join(', ')
/** The same without reading the metadata. */
export const WITHOUT_METADATA = OBJECT.replace('metadata', 'NULL AS metadata')
/** The columns of a row that is written, after which its `seq` follows. */
export const TRACKED = TRACKED_COLUMNS.join(', ')
export const LEFTOVER =
  'attempt_id, scope, bucket, key, storage_key, upload_id, since, writable_until, due_at, readable_until'

/** What names the bytes of a row or leftover. The indexes have the same expression. */
export const STORED_NAME = 'coalesce(storage_key, key)'

/** Stands for no date where SQLite must compare it. Sorts before every date. */
export const NEVER = Number.MIN_SAFE_INTEGER

type Cell = Cells[number] | undefined

const text = (cell: Cell) => cell as string
const textOrNull = (cell: Cell) => (cell ?? null) as string | null
const numberOrNull = (cell: Cell) => (cell ?? null) as number | null
export const dateOf = (cell: Cell) => new Date(cell as number)
const dateOrNull = (cell: Cell) => (cell === null || cell === undefined ? null : new Date(cell))
const metadataOrNull = (cell: Cell) =>
  cell === null || cell === undefined ? null : (parseJson(cell as string) as ObjectMetadata)

/** Reads the columns {@link OBJECT}. Values that are not there, as in the events of an older release, are `null`. */
export function readObject(cells: Cells): StorageObject {
  // In a page, a loop over the columns would take several times as long.
  return {
    id: text(cells[0]),
    attemptId: text(cells[1]),
    scope: text(cells[2]),
    bucket: text(cells[3]),
    key: text(cells[4]),
    status: cells[5] as ObjectStatus,
    route: textOrNull(cells[6]),
    filename: textOrNull(cells[7]),
    contentType: textOrNull(cells[8]),
    size: numberOrNull(cells[9]),
    declaredSize: numberOrNull(cells[10]),
    eTag: textOrNull(cells[11]),
    metadata: metadataOrNull(cells[12]),
    storageKey: textOrNull(cells[13]),
    uploadId: textOrNull(cells[14]),
    expiresAt: dateOrNull(cells[15]),
    createdAt: dateOf(cells[16]),
    updatedAt: dateOf(cells[17]),
    confirmedAt: dateOrNull(cells[18]),
    deletedAt: dateOrNull(cells[19]),
    temporaryUntil: dateOrNull(cells[20]),
    arrivedAt: dateOrNull(cells[21]),
  }
}

/** Reads the columns {@link TRACKED}. */
export function readTracked(cells: Cells): TrackedRow {
  const first = OBJECT_COLUMNS.length
  return Object.assign(readObject(cells), {
    writableUntil: dateOf(cells[first]),
    temporarySeconds: numberOrNull(cells[first + 1]),
    checkSeconds: numberOrNull(cells[first + 2]),
  })
}

const timeOrNull = (date: Date | null) => (date === null ? null : date.getTime())

/** Returns the cells of the columns {@link OBJECT}, with this text of the metadata. */
function objectCells(row: StorageObject, metadata: Cells[number]): Cells[number][] {
  // A loop over the columns would take several times as long here, too.
  return [
    row.id,
    row.attemptId,
    row.scope,
    row.bucket,
    row.key,
    row.status,
    row.route,
    row.filename,
    row.contentType,
    row.size,
    row.declaredSize,
    row.eTag,
    metadata,
    row.storageKey,
    row.uploadId,
    timeOrNull(row.expiresAt),
    row.createdAt.getTime(),
    row.updatedAt.getTime(),
    timeOrNull(row.confirmedAt),
    timeOrNull(row.deletedAt),
    timeOrNull(row.temporaryUntil),
    timeOrNull(row.arrivedAt),
  ]
}

/**
 * Returns the cells of the columns {@link TRACKED}. History has no `writableUntil`: its bytes are among the leftovers. `metadata` is the
 * text of the metadata, if it is known.
 */
export function cellsOf(
  row: StorageObject & Partial<TrackedRow>,
  metadata = metadataText(row.metadata),
): Cells {
  const cells = objectCells(row, metadata)
  cells.push(
    (row.writableUntil ?? row.updatedAt).getTime(),
    row.temporarySeconds ?? null,
    row.checkSeconds ?? null,
  )
  return cells
}

/** Where the text of the metadata is among the cells. */
export const METADATA = OBJECT_COLUMNS.indexOf('metadata')

const metadataText = (metadata: ObjectMetadata | null) =>
  metadata === null ? null : JSON.stringify(metadata)

/** Returns the values of an object as a JSON list, as events keep it. {@link readObject} reads the list. */
export function objectText(row: StorageObject): string {
  return JSON.stringify(objectCells(row, metadataText(row.metadata)))
}

export const objectFrom = (list: string) => readObject(parseJson(list) as Cells)

/** Reads the columns {@link LEFTOVER}. */
export function readLeftover(cells: Cells): Leftover {
  return {
    attemptId: text(cells[0]),
    scope: textOrNull(cells[1]),
    bucket: text(cells[2]),
    key: text(cells[3]),
    storageKey: textOrNull(cells[4]),
    uploadId: textOrNull(cells[5]),
    since: dateOf(cells[6]),
    writableUntil: dateOf(cells[7]),
    dueAt: cells[8] === NEVER ? null : dateOf(cells[8]),
    readableUntil: dateOrNull(cells[9]),
  }
}
