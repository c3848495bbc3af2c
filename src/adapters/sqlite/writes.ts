import type { AdoptCommand, StoreDriver } from '../../core/store/driver.js'
import {
  NOTHING_LIVE,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
  type TrackedRow,
} from '../../core/store/lifecycle/change.js'
import { decide, outcomeOf, type KeyWrite, type KeyWriteOutcome } from '../../core/store/lifecycle/decide.js'
import { receivesBytes } from '../../core/store/lifecycle/plans.js'
import {
  refuseKeep,
  rowToKeep,
  type EndOneCommand,
  type KeepOneCommand,
} from '../../core/store/lifecycle/temporary.js'
import { refuseRejected } from '../../core/store/lifecycle/verdicts.js'
import { NO_USAGE, usageAfter } from '../../core/store/lifecycle/usage.js'
import type { Leftover, ObjectReference, StorageObject } from '../../core/store/records.js'
import type { Connection } from './connection/connection.js'
import { isForeignKey } from './connection/failures.js'
import type { Cells, Statement } from './connection/statement.js'
import { dateOrdered } from './dated-lists.js'
import type { EventLog } from './events.js'
import { BY_EXPIRY, LIVE_AT, OF_SCOPE } from './reads.js'
import { rejectionLog } from './rejections.js'
import {
  cellsOf,
  LEFTOVER,
  METADATA,
  NEVER,
  OBJECT,
  readObject,
  readTracked,
  STORED_NAME,
  TRACKED,
  TRACKED_COLUMNS,
} from './rows.js'
import { NO_ROWS, type Counters, type ScopeUsages } from './usage.js'

const NAMES_BYTES = `bucket = :bucket AND ${STORED_NAME} = :storageKey`

export function writeMethods(connection: Connection, usages: ScopeUsages, events: EventLog) {
  const rows = rowWriter(connection)
  const live = connection.statement(`SELECT ${TRACKED}, seq FROM {objects} ${LIVE_AT}`)
  const [namedActive, namedPending] = ['active', 'pending'].map((status) =>
    connection.statement(
      `SELECT ${OBJECT} FROM {objects} INDEXED BY {objects_stored}
        WHERE ${NAMES_BYTES} AND deleted_at IS NULL AND status = '${status}' ORDER BY key LIMIT 2`,
    ),
  )
  const namedLeftover = connection.statement(
    `SELECT 1 FROM {leftovers} INDEXED BY {leftovers_stored} WHERE ${NAMES_BYTES} LIMIT 1`,
  )
  const leave = connection.statement(
    `INSERT OR REPLACE INTO {leftovers} (${LEFTOVER})
      VALUES (:attemptId, :scope, :bucket, :key, :storageKey, :uploadId, :since, :writableUntil, :dueAt, :readableUntil)`,
  )
  const forget = connection.statement('DELETE FROM {leftovers} WHERE attempt_id = :attemptId')
  const defer = connection.statement(
    `UPDATE {leftovers} SET due_at = :until, readable_until = coalesce(:readableUntil, readable_until)
      WHERE attempt_id = :attemptId AND (:dueBefore IS NULL OR due_at <= :dueBefore)`,
  )
  const expired = dateOrdered(connection, {
    ...{ columns: 'bucket, key, id', table: 'objects', id: 'id', ...BY_EXPIRY },
  })
  const deleted = dateOrdered(connection, {
    ...{ columns: 'seq, scope', table: 'objects', date: 'deleted_at', id: 'id' },
  })
  const deletedById = connection.statement(
    `SELECT seq, scope FROM {objects} INDEXED BY {objects_deleted_id}
      WHERE id = :id AND ${OF_SCOPE} AND deleted_at <= :until
      ORDER BY deleted_at LIMIT :limit`,
  )

  // An object keeps its id when it is replaced, and is named by the id of that attempt as well.
  const keysNamed = connection.statement(
    `SELECT bucket, key FROM {objects} INDEXED BY {objects_id} WHERE id = :id AND deleted_at IS NULL
      UNION ALL SELECT bucket, key FROM {objects} INDEXED BY {objects_attempt}
        WHERE attempt_id = :id AND attempt_id <> id AND deleted_at IS NULL`,
  )
  const rejections = rejectionLog(connection)

  const usage = (scope: string) => usages.usage(scope)

  function liveRows({ bucket, key }: ObjectReference): LiveRows {
    const found = live.rows({ bucket, key }).map((cells) => rows.read(cells))
    if (found.length === 0) return NOTHING_LIVE
    const rowOf = (status: string) => found.find((row) => row.status === status) ?? null
    return { active: rowOf('active'), pending: rowOf('pending') }
  }

  /** Returns what names the bytes already, except the row that receives them. */
  function known(command: AdoptCommand): StorageObject | 'leftover' | null {
    const { bucket, storageKey } = command
    // At most one row receives the bytes, so it hides at most one of two.
    for (const named of [namedActive!, namedPending!]) {
      const row = named
        .rows({ bucket, storageKey })
        .map(readObject)
        .find((object) => !receivesBytes(object, command))
      if (row) return row
    }
    return namedLeftover.first({ bucket, storageKey }) ? 'leftover' : null
  }

  /** Writes a change, in the transaction whose reads led to it. */
  function apply(change: KeyChange, now: Date): void {
    const { before, after, history, event } = change
    const isKept = (row: TrackedRow) => row === after.active || row === after.pending
    const gone = [before.active, before.pending].filter((row) => row !== null).filter((row) => !isKept(row))
    const isNew = (row: StorageObject) => row !== before.active && row !== before.pending
    const come = [after.active, after.pending, history].filter((row) => row !== null).filter(isNew)
    rows.replace(gone, come)
    for (const leftover of change.leftovers) addLeftover(leftover)
    if (change.rejection) rejections.add(change.rejection)
    if (event) events.record(event, now)
    const [owner, receiver] = [scopeOf(before), scopeOf(after)]
    if (owner !== null) usages.add(owner, growthOf(owner, change))
    if (receiver !== null && receiver !== owner) usages.add(receiver, growthOf(receiver, change))
  }

  function addLeftover(leftover: Leftover): void {
    const { attemptId, scope, bucket, key, storageKey, uploadId, since, writableUntil, readableUntil } =
      leftover
    const names = { attemptId, scope, bucket, key, storageKey, uploadId }
    leave.run({ ...names, since, writableUntil, dueAt: NEVER, readableUntil })
  }

  /** Reads, decides and applies a write, in a transaction. */
  function writeKey<Write extends KeyWrite>(write: Write): KeyWriteOutcome<Write> {
    const { command } = write
    const decision = decide(write, { live: liveRows(command), usage, known })
    if (decision.outcome === 'change') apply(decision, command.now)
    return outcomeOf(write, decision)
  }

  /** Returns the row that an object of a `keep` names. */
  function findNamed(object: Omit<KeepOneCommand, 'bucket' | 'key'>): TrackedRow | null {
    for (const [bucket, key] of keysNamed.rows({ id: object.id })) {
      const row = rowToKeep(liveRows({ bucket: bucket as string, key: key as string }), object)
      if (row) return row
    }
    return null
  }

  /** Removes an object past its end, unless a foreign key of the application protects its row. */
  function endOne(command: EndOneCommand): StorageObject | null {
    try {
      return connection.savepoint(() => writeKey({ kind: 'endOne', command }).row)
    } catch (error) {
      if (isForeignKey(error)) return null
      throw error
    }
  }

  const write = <Write extends KeyWrite>(keyWrite: Write): Promise<KeyWriteOutcome<Write>> =>
    connection.write(() => writeKey(keyWrite))

  return {
    reserve: (command) => write({ kind: 'reserve', command }),
    setUploadId: (command) => write({ kind: 'setUploadId', command }),
    confirm: (command) =>
      connection.write(() => {
        const outcome = writeKey({ kind: 'confirm', command })
        if (outcome.outcome !== 'not-found' || command.id === null) return outcome
        return refuseRejected(command, rejections.find(command.id)) ?? outcome
      }),
    release: (command) => write({ kind: 'release', command }),
    adopt: (command) => write({ kind: 'adopt', command }),
    update: (command) => write({ kind: 'update', command }),
    transfer: (command) => write({ kind: 'transfer', command }),
    remove: (command) => write({ kind: 'remove', command }),
    reject: (command) => write({ kind: 'reject', command }),

    keep: ({ scope, objects, now }) =>
      connection.write(() => {
        const named = objects.map((object) => ({ ...object, scope, now }))
        const found = named.map(findNamed)
        const refusal = refuseKeep(found)
        if (refusal) return refusal
        const kept = named.map((object, index) => {
          const { bucket, key } = found[index]!
          return writeKey({ kind: 'keepOne', command: { ...object, bucket, key } }).row!
        })
        return { outcome: 'kept', rows: kept }
      }),

    endTemporary: ({ objects, ...rest }) =>
      connection.write(() => ({
        rows: objects.flatMap((object) => endOne({ ...object, ...rest }) ?? []),
      })),

    purgeExpired: ({ scope, limit, before, now }) =>
      connection.write(() => {
        const ended = expired({ scope, limit, until: before }).map((cells) => {
          const [bucket, key, id] = cells as readonly string[]
          return writeKey({ kind: 'purge', command: { bucket: bucket!, key: key!, id: id!, before, now } })
        })
        return { rows: ended.flatMap(({ row }) => row ?? []) }
      }),

    purgeDeleted: ({ id, scope, limit, before: until }) =>
      connection.write(() => {
        const dropped =
          id === null ? deleted({ scope, limit, until }) : deletedById.rows({ id, scope, limit, until })
        for (const [seq, owner] of dropped) {
          rows.drop(seq as number)
          usages.add(owner as string, { ...NO_ROWS, deleted: -1 })
        }
        if (id === null) rejections.forgetUntil(until, scope)
        return { dropped: dropped.length }
      }),

    forgetLeftover: (attemptId) => connection.write(() => forget.run({ attemptId }) > 0),
    deferLeftover: ({ attemptId, until, dueBefore, readableUntil }) =>
      connection.write(() => defer.run({ attemptId, until, dueBefore, readableUntil }) > 0),
  } satisfies Partial<StoreDriver>
}

/** Returns what a change adds to the counters of a scope. */
function growthOf(scope: string, { before, after, history }: KeyChange): Counters {
  const removed = scopeOf(before) === scope ? before : NOTHING_LIVE
  const added = scopeOf(after) === scope ? after : NOTHING_LIVE
  const { bytes, files, reservedBytes, reservedFiles } = usageAfter(
    NO_USAGE,
    usageOf(removed),
    usageOf(added),
  )
  const pending = Number(added.pending !== null) - Number(removed.pending !== null)
  return { bytes, files, reservedBytes, reservedFiles, pending, deleted: history?.scope === scope ? 1 : 0 }
}

/** Writes rows of objects. A row that takes the place of another changes only the columns that differ, and the indexes on them. */
function rowWriter(connection: Connection) {
  const insert = connection.statement(
    `INSERT INTO {objects} (${TRACKED}) VALUES (${TRACKED.replace(/\w+/g, ':$&')})`,
  )
  const drop = connection.statement('DELETE FROM {objects} WHERE seq = :seq')
  /** By the columns that they set, as bits. */
  const updates = new Map<number, Statement>()
  /** Rows as they were read. Their cells end with the number of the row. */
  const cellsRead = new WeakMap<TrackedRow, Cells>()

  function updateOf(columns: number): Statement {
    const list = TRACKED_COLUMNS.filter((_, index) => (columns & (1 << index)) !== 0)
    const set = list.map((column) => `${column} = :${column}`).join(', ')
    const statement = connection.statement(`UPDATE {objects} SET ${set} WHERE seq = :seq`)
    updates.set(columns, statement)
    return statement
  }

  /** Writes the cells in which a row differs from the one whose place it takes. */
  function update(before: TrackedRow, after: StorageObject): void {
    const read = cellsRead.get(before)!
    const cells = cellsOf(
      after,
      after.metadata === before.metadata ? (read[METADATA] as string | null) : undefined,
    )
    const changed: Cells[number][] = []
    let columns = 0
    for (let index = 0; index < cells.length; index++) {
      if (cells[index] === read[index]) continue
      columns |= 1 << index
      changed.push(cells[index]!)
    }
    if (columns === 0) return
    changed.push(read.at(-1)!)
    const statement = updates.get(columns) ?? updateOf(columns)
    statement.runInOrder(changed)
  }

  return {
    /** Reads a row, and remembers its cells. */
    read(cells: Cells): TrackedRow {
      const row = readTracked(cells)
      cellsRead.set(row, cells)
      return row
    },
    drop: (seq: number) => void drop.run({ seq }),
    replace(gone: readonly TrackedRow[], come: readonly StorageObject[]): void {
      // A new row may have the name of one that goes, so those go first.
      const successors = gone.map((row) => come.find(({ id }) => id === row.id))
      gone.forEach((row, index) => {
        const isLast = successors[index] === undefined || successors.indexOf(successors[index]) !== index
        if (isLast) drop.runInOrder([cellsRead.get(row)!.at(-1)!])
      })
      for (const row of come) {
        const index = successors.indexOf(row)
        if (index === -1) insert.runInOrder(cellsOf(row))
        else update(gone[index]!, row)
      }
    },
  }
}
