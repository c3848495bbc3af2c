import {
  NO_USAGE,
  NOTHING_LIVE,
  decide,
  outcomeOf,
  receivesBytes,
  scopeOf,
  usageAfter,
  usageOf,
} from '@svc/db/adapter'
import type {
  AdoptCommand,
  KeyChange,
  KeyWrite,
  KeyWriteOutcome,
  LiveRows,
  ObjectReference,
  StorageObject,
  StoreDriver,
  TrackedRow,
} from '@svc/db/adapter'
import type { Connection } from './connection.ts'
import { recordEvent } from './events.ts'
import { OF_SCOPE, pageByDate, rowAt } from './reads.ts'
import { addToScope, countersOf, NO_ROWS, type Counters } from './scopes.ts'
import { LEFTOVER, NEVER, OBJECT, TRACKED } from './values.ts'

const EXPIRED = { columns: 'id, bucket, key', table: 'objects', date: 'expiresAt', id: 'id' } as const
const DELETED = { columns: 'seq, scope', table: 'objects', date: 'deletedAt', id: 'id' } as const
const DELETED_BY_ID = `SELECT seq, scope FROM objects INDEXED BY objects_id
  WHERE id = :id AND status = 'deleted' AND ${OF_SCOPE} AND deletedAt <= :until LIMIT :limit`
const DEFER_LEFTOVER = `UPDATE leftovers SET dueAt = :until
  WHERE attemptId = :attemptId AND (:dueBefore IS NULL OR dueAt <= :dueBefore)`

export function writeMethods(connection: Connection) {
  const usage = (scope: string) => countersOf(connection, scope)

  function liveAt(reference: ObjectReference): LiveRows {
    const rows = connection.all<TrackedRow>(
      `SELECT ${TRACKED} FROM objects WHERE bucket = :bucket AND key = :key AND status IN ('active', 'pending')`,
      reference,
    )
    const rowOf = (status: string) => rows.find((row) => row.status === status) ?? null
    return { active: rowOf('active'), pending: rowOf('pending') }
  }

  /** Writes a change, in the transaction whose reads led to it. */
  function apply(change: KeyChange, now: Date): void {
    const { before, after, history, leftovers, event, row } = change
    for (const status of ['active', 'pending'] as const) {
      if (before[status] === after[status]) continue
      connection.run(`DELETE FROM objects WHERE ${rowAt(status)}`, row)
      if (after[status]) insert('objects', TRACKED, after[status])
    }
    if (history) insert('objects', TRACKED, { ...history, writableUntil: now })
    for (const leftover of leftovers) insert('leftovers', LEFTOVER, { ...leftover, dueAt: NEVER })
    if (event) recordEvent(connection, event, now)
    const scopes = [...new Set([scopeOf(before), scopeOf(after)])].filter((scope) => scope !== null)
    for (const scope of scopes) addToScope(connection, scope, growthOf(scope, change))
  }

  function insert(table: string, columns: string, row: object): void {
    const values = columns.replace(/\w+/g, ':$&')
    connection.run(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${values})`, row)
  }

  /** Returns what names the bytes already, except the row that receives them. */
  function known(command: AdoptCommand): StorageObject | 'leftover' | null {
    // At most one row receives the bytes, so it hides at most one of two.
    const rows = connection.all<StorageObject>(
      `SELECT ${OBJECT} FROM objects WHERE bucket = :bucket AND name = :storageKey ORDER BY status, key LIMIT 2`,
      command,
    )
    const row = rows.find((row) => !receivesBytes(row, command))
    if (row) return row
    const leftover = 'SELECT 1 FROM leftovers WHERE bucket = :bucket AND name = :storageKey LIMIT 1'
    return connection.get(leftover, command) ? 'leftover' : null
  }

  /** Reads, decides and applies a write. */
  function writeKey<Write extends KeyWrite>(write: Write): KeyWriteOutcome<Write> {
    const { command } = write
    const decision = decide(write, { live: liveAt(command), usage, known })
    if (decision.outcome === 'change') apply(decision, command.now)
    return outcomeOf(write, decision)
  }

  /** The same in one transaction. */
  const write = <Write extends KeyWrite>(keyWrite: Write) => connection.write(() => writeKey(keyWrite))

  return {
    reserve: async (command) => write({ kind: 'reserve', command }),
    setUploadId: async (command) => write({ kind: 'setUploadId', command }),
    confirm: async (command) => write({ kind: 'confirm', command }),
    release: async (command) => write({ kind: 'release', command }),
    adopt: async (command) => write({ kind: 'adopt', command }),
    update: async (command) => write({ kind: 'update', command }),
    transfer: async (command) => write({ kind: 'transfer', command }),
    remove: async (command) => write({ kind: 'remove', command }),

    async purgeExpired({ scope, limit, before, now }) {
      return connection.write(() => {
        const page = { scope, limit, until: before }
        const expired = pageByDate<ObjectReference & { id: string }>(connection, EXPIRED, page)
        const ended = expired.map((row) => writeKey({ kind: 'purge', command: { ...row, before, now } }))
        return { rows: ended.flatMap(({ row }) => row ?? []) }
      })
    },
    async purgeDeleted({ id, scope, limit, before: until }) {
      return connection.write(() => {
        const page = { scope, limit, until }
        const dropped =
          id === null
            ? pageByDate<{ scope: string }>(connection, DELETED, page)
            : connection.all<{ scope: string }>(DELETED_BY_ID, { ...page, id })
        for (const row of dropped) {
          connection.run('DELETE FROM objects WHERE seq = :seq', row)
          addToScope(connection, row.scope, { ...NO_ROWS, deleted: -1 })
        }
        return { dropped: dropped.length }
      })
    },
    forgetLeftover: async (attemptId) =>
      connection.run('DELETE FROM leftovers WHERE attemptId = :attemptId', { attemptId }) > 0,
    deferLeftover: async (command) => connection.run(DEFER_LEFTOVER, command) > 0,
  } satisfies Partial<StoreDriver>
}

/** Returns what a change adds to the counters of a scope. */
function growthOf(scope: string, { before, after, history }: KeyChange): Counters {
  const removed = scopeOf(before) === scope ? before : NOTHING_LIVE
  const added = scopeOf(after) === scope ? after : NOTHING_LIVE
  return {
    ...usageAfter(NO_USAGE, usageOf(removed), usageOf(added)),
    pending: Number(added.pending !== null) - Number(removed.pending !== null),
    deleted: history?.scope === scope ? 1 : 0,
  }
}
