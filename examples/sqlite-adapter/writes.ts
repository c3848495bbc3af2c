import * as rules from '@svc/db/adapter'
import type { KeyChange, LiveRows, ObjectReference, StorageObject, StoreDriver } from '@svc/db/adapter'
import type { Connection } from './connection.ts'
import { recordEvent } from './events.ts'
import { pageByDate, rowAt } from './reads.ts'
import { addToScope, countersOf, NO_ROWS, type Counters } from './scopes.ts'
import { LEFTOVER, NEVER, OBJECT, TRACKED, withoutTracking } from './values.ts'

const { NOTHING_LIVE, NO_USAGE, scopeOf, usageOf, usageAfter } = rules

type Command = ObjectReference & { readonly now: Date }
type Decided<Row extends MaybeRow> = KeyChange | rules.Unchanged<Row>
type MaybeRow = StorageObject | null
type Outcome = { readonly outcome: string }

const EXPIRED = { columns: 'id, bucket, key', table: 'objects', date: 'expiresAt', id: 'id' } as const
const DELETED = { columns: 'seq, scope', table: 'objects', date: 'deletedAt', id: 'id' } as const

export function writeMethods(connection: Connection) {
  const usageIn = (scope: string | null) => countersOf(connection, scope)

  function liveAt(reference: ObjectReference): LiveRows {
    const rows = connection.all<rules.TrackedRow>(
      `SELECT ${TRACKED} FROM objects WHERE bucket = :bucket AND key = :key AND status IN ('active', 'pending')`,
      reference,
    )
    const rowOf = (status: string) => rows.find((row) => row.status === status) ?? null
    return { active: rowOf('active'), pending: rowOf('pending') }
  }

  /** Writes what a plan decided, in the transaction whose reads led to it. */
  function apply<Row extends MaybeRow>(plan: Decided<Row>, now: Date) {
    const row = plan.row && withoutTracking(plan.row)
    if (plan.outcome === 'unchanged') return { row, scopes: plan.row ? [plan.row.scope] : [] }
    const { before, after, history, leftovers, event } = plan
    for (const status of ['active', 'pending'] as const) {
      if (before[status] === after[status]) continue
      connection.run(`DELETE FROM objects WHERE ${rowAt(status)}`, plan.row)
      if (after[status]) insert('objects', TRACKED, after[status])
    }
    if (history) insert('objects', TRACKED, { ...history, writableUntil: now })
    for (const leftover of leftovers) insert('leftovers', LEFTOVER, { ...leftover, dueAt: NEVER })
    if (event) recordEvent(connection, event, now)
    const scopes = [...new Set([scopeOf(before), scopeOf(after)])].filter((scope) => scope !== null)
    for (const scope of scopes) addToScope(connection, scope, growthOf(scope, plan))
    return { row, scopes }
  }

  function insert(table: string, columns: string, row: object): void {
    const values = columns.replace(/\w+/g, ':$&')
    connection.run(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${values})`, row)
  }

  /** Reads, decides and applies a write in one transaction. Returns a refusal as it is. */
  function write<Done extends string, Row extends MaybeRow, Refusal extends Outcome>(
    command: Command,
    outcome: Done,
    decide: (live: LiveRows) => Decided<Row> | Refusal,
  ) {
    return connection.write(() => {
      const plan = decide(liveAt(command))
      return isDecided(plan) ? { outcome, ...apply(plan, command.now) } : plan
    })
  }

  /** The same for a write that nothing can refuse. */
  function change<Row extends MaybeRow>(command: Command, decide: (live: LiveRows) => Decided<Row>) {
    return connection.write(() => apply(decide(liveAt(command)), command.now))
  }

  /** Returns what names the bytes already, except the row that receives them. */
  function knownBytes(command: rules.AdoptCommand): StorageObject | 'leftover' | null {
    // At most one row receives the bytes, so it hides at most one of two.
    const rows = connection.all<StorageObject>(
      `SELECT ${OBJECT} FROM objects WHERE bucket = :bucket AND name = :storageKey ORDER BY status, key LIMIT 2`,
      command,
    )
    const known = rows.find((row) => !rules.receivesBytes(row, command))
    if (known) return known
    const leftover = 'SELECT 1 FROM leftovers WHERE bucket = :bucket AND name = :storageKey LIMIT 1'
    return connection.get(leftover, command) ? 'leftover' : null
  }

  return {
    reserve: async (command) =>
      write(command, 'reserved', (live) => rules.planReserve(live, usageIn(command.scope), command)),
    confirm: async (command) =>
      write(command, 'confirmed', (live) => rules.planConfirm(live, usageIn(scopeOf(live)), command)),
    setUploadId: async (command) => write(command, 'set', (live) => rules.planSetUploadId(live, command)),
    release: async (command) => change(command, (live) => rules.planRelease(live, command)),
    remove: async (command) => change(command, (live) => rules.planRemove(live, command)),
    update: async (command) => change(command, (live) => rules.planUpdate(live, command)),
    async transfer(command) {
      const { from, to } = command
      const result = write(command, 'transferred', (live) => rules.planTransfer(live, usageIn(to), command))
      // Names both even if nothing changed: the call that made the change may not have reported them.
      return result.outcome === 'transferred' && result.row ? { ...result, scopes: [from, to] } : result
    },
    async adopt(command) {
      const plan = (live: LiveRows) =>
        rules.planAdopt(live, usageIn(command.scope), command, knownBytes(command))
      const result = write(command, 'adopted', plan)
      if (result.outcome !== 'known') return result
      return { ...result, scopes: result.object ? [result.object.scope] : [] }
    },

    async purgeExpired({ scope, limit, before, now }) {
      return connection.write(() => {
        const page = { scope, limit, until: before }
        const expired = pageByDate<ObjectReference & { id: string }>(connection, EXPIRED, page)
        const ended = expired.map((row) => apply(rules.planPurge(liveAt(row), row.id, before, now), now))
        const rows = ended.flatMap(({ row }) => row ?? [])
        return { rows, scopes: [...new Set(ended.flatMap(({ scopes }) => scopes))] }
      })
    },
    async purgeDeleted({ scope, limit, before: until }) {
      return connection.write(() => {
        const dropped = pageByDate<{ scope: string }>(connection, DELETED, { scope, limit, until })
        for (const row of dropped) {
          connection.run('DELETE FROM objects WHERE seq = :seq', row)
          addToScope(connection, row.scope, { ...NO_ROWS, deleted: -1 })
        }
        return { dropped: dropped.length, scopes: [...new Set(dropped.map((row) => row.scope))] }
      })
    },
    forgetLeftover: async (attemptId) =>
      connection.run('DELETE FROM leftovers WHERE attemptId = :attemptId', { attemptId }) > 0,
    deferLeftover: async (command) =>
      connection.run('UPDATE leftovers SET dueAt = :until WHERE attemptId = :attemptId', command) > 0,
  } satisfies Partial<StoreDriver>
}

/** Returns whether a plan is not a refusal. */
function isDecided<Row extends MaybeRow>(plan: Decided<Row> | Outcome): plan is Decided<Row> {
  return plan.outcome === 'change' || plan.outcome === 'unchanged'
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
