import {
  NOTHING_LIVE,
  NO_USAGE,
  planAdopt,
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
  planTransfer,
  planUpdate,
  receivesBytes,
  scopeOf,
  usageAfter,
  usageOf,
  type AdoptCommand,
  type KeyChange,
  type LiveRows,
  type ObjectReference,
  type StorageObject,
  type StoreDriver,
} from '@svc/db/adapter'
import type { Connection } from './connection.ts'
import { recordEvent } from './events.ts'
import {
  INSERT_LEFTOVER,
  INSERT_OBJECT,
  OBJECT,
  toObject,
  toStored,
  toStoredLeftover,
  toTracked,
  TRACKED,
  type StoredObject,
} from './rows.ts'
import { addToScope, usageOfScope, type ScopeRow } from './usage.ts'

type Writes = Pick<
  Required<StoreDriver>,
  | 'reserve'
  | 'confirm'
  | 'setUploadId'
  | 'release'
  | 'remove'
  | 'update'
  | 'transfer'
  | 'adopt'
  | 'purgeExpired'
  | 'purgeDeleted'
  | 'forgetLeftover'
  | 'deferLeftover'
>

type Decided<Row> = KeyChange | { readonly outcome: 'unchanged'; readonly row: Row }

export function writeMethods(connection: Connection): Writes {
  function liveAt({ bucket, key }: ObjectReference): LiveRows {
    const rows = connection
      .all<StoredObject & { writableUntil: number }>(
        `SELECT ${TRACKED} FROM objects WHERE bucket = :bucket AND key = :key AND status IN ('active', 'pending')`,
        { bucket, key },
      )
      .map(toTracked)
    const rowOf = (status: string) => rows.find((row) => row.status === status) ?? null
    return rows.length === 0 ? NOTHING_LIVE : { active: rowOf('active'), pending: rowOf('pending') }
  }

  /** Writes what a plan decided, in the transaction whose reads led to it. */
  function apply<Row extends StorageObject | null>(plan: Decided<Row>, now: Date) {
    // Callers may change the row, and must not see `writableUntil`.
    const row = plan.row && toObject(toStored(plan.row))
    if (plan.outcome === 'unchanged') return { row, scopes: plan.row ? [plan.row.scope] : [] }
    const { before, after, history, leftovers, event } = plan
    const { bucket, key } = plan.row
    for (const status of ['active', 'pending'] as const) {
      const [old, current] = [before[status], after[status]]
      if (old === current) continue
      const reference = { bucket, key, status }
      if (old) {
        connection.run(
          'DELETE FROM objects WHERE bucket = :bucket AND key = :key AND status = :status',
          reference,
        )
      }
      if (current) insert(current, current.writableUntil)
    }
    if (history) insert(history, now)
    for (const leftover of leftovers) connection.run(INSERT_LEFTOVER, { ...toStoredLeftover(leftover) })
    if (event) recordEvent(connection, event, now)
    const scopes = [...new Set([scopeOf(before), scopeOf(after)])].filter((scope) => scope !== null)
    for (const scope of scopes) addToScope(connection, scope, growthOf(scope, plan))
    return { row, scopes }
  }

  function insert(row: StorageObject, writableUntil: Date): void {
    connection.run(INSERT_OBJECT, { ...toStored(row), writableUntil: writableUntil.getTime() })
  }

  /** Decides and applies a write that no quota can refuse. */
  function change(
    reference: ObjectReference & { readonly now: Date },
    decide: (live: LiveRows) => Decided<StorageObject | null>,
  ) {
    return connection.write(() => apply(decide(liveAt(reference)), reference.now))
  }

  /** Returns what names the bytes already, except the row that receives them. */
  function knownBytes(command: AdoptCommand): StorageObject | 'leftover' | null {
    const { bucket, storageKey: name } = command
    // At most one row receives the bytes, so it hides at most one of two.
    const rows = connection.all<StoredObject>(
      `SELECT ${OBJECT} FROM objects WHERE bucket = :bucket AND name = :name ORDER BY status, key LIMIT 2`,
      { bucket, name },
    )
    const known = rows.map(toObject).find((row) => !receivesBytes(row, command))
    if (known) return known
    const isLeftover = connection.get('SELECT 1 FROM leftovers WHERE bucket = :bucket AND name = :name', {
      bucket,
      name,
    })
    return isLeftover ? 'leftover' : null
  }

  return {
    async reserve(command) {
      return connection.write(() => {
        const plan = planReserve(liveAt(command), usageOfScope(connection, command.scope), command)
        return isDecided(plan) ? { outcome: 'reserved', ...apply(plan, command.now) } : plan
      })
    },
    async confirm(command) {
      return connection.write(() => {
        const live = liveAt(command)
        const scope = scopeOf(live)
        const plan = planConfirm(live, scope === null ? NO_USAGE : usageOfScope(connection, scope), command)
        return isDecided(plan) ? { outcome: 'confirmed', ...apply(plan, command.now) } : plan
      })
    },
    async setUploadId(command) {
      return connection.write(() => {
        const plan = planSetUploadId(liveAt(command), command)
        return isDecided(plan) ? { outcome: 'set', ...apply(plan, command.now) } : plan
      })
    },
    async release(command) {
      return change(command, (live) => planRelease(live, command))
    },
    async remove(command) {
      return change(command, (live) => planRemove(live, command))
    },
    async update(command) {
      return change(command, (live) => planUpdate(live, command))
    },
    async transfer(command) {
      return connection.write(() => {
        const { from, to, now } = command
        const plan = planTransfer(liveAt(command), usageOfScope(connection, to), command)
        if (!isDecided(plan)) return plan
        const { row } = apply(plan, now)
        // Names both even if nothing changed: the call that made the change may not have reported them.
        return { outcome: 'transferred', row, scopes: row ? [from, to] : [] }
      })
    },
    async adopt(command) {
      return connection.write(() => {
        const usage = usageOfScope(connection, command.scope)
        const plan = planAdopt(liveAt(command), usage, command, knownBytes(command))
        if (plan.outcome === 'known') return { ...plan, scopes: plan.object ? [plan.object.scope] : [] }
        return isDecided(plan) ? { outcome: 'adopted', ...apply(plan, command.now) } : plan
      })
    },

    async purgeExpired({ scope, before, limit, now }) {
      return connection.write(() => {
        const ofScope = scope === null ? '' : 'scope = :scope AND'
        const expired = connection.all<ObjectReference & { id: string }>(
          `SELECT id, bucket, key FROM objects WHERE ${ofScope} expiresAt <= :before ORDER BY expiresAt, id LIMIT :limit`,
          { before: before.getTime(), limit, ...(scope !== null && { scope }) },
        )
        const ended = expired.map((row) => apply(planPurge(liveAt(row), row.id, before, now), now))
        return {
          rows: ended.map(({ row }) => row).filter((row) => row !== null),
          scopes: [...new Set(ended.flatMap(({ scopes }) => scopes))],
        }
      })
    },
    async purgeDeleted({ scope, before, limit }) {
      return connection.write(() => {
        const ofScope = scope === null ? '' : 'scope = :scope AND'
        const dropped = connection.all<{ scope: string }>(
          `DELETE FROM objects WHERE seq IN (
            SELECT seq FROM objects WHERE ${ofScope} deletedAt <= :before ORDER BY deletedAt, id LIMIT :limit
          ) RETURNING scope`,
          { before: before.getTime(), limit, ...(scope !== null && { scope }) },
        )
        for (const row of dropped) addToScope(connection, row.scope, { ...NO_USAGE, pending: 0, deleted: -1 })
        return { dropped: dropped.length, scopes: [...new Set(dropped.map((row) => row.scope))] }
      })
    },

    async forgetLeftover(attemptId) {
      return connection.run('DELETE FROM leftovers WHERE attemptId = :attemptId', { attemptId }) > 0
    },
    async deferLeftover({ attemptId, until }) {
      const values = { attemptId, dueAt: until.getTime() }
      return connection.run('UPDATE leftovers SET dueAt = :dueAt WHERE attemptId = :attemptId', values) > 0
    },
  }
}

/** Returns whether a plan is not a refusal. */
function isDecided<Plan extends { readonly outcome: string }>(
  plan: Plan,
): plan is Extract<Plan, { readonly outcome: 'change' | 'unchanged' }> {
  return plan.outcome === 'change' || plan.outcome === 'unchanged'
}

/** Returns what a change adds to the counters of a scope. */
function growthOf(scope: string, { before, after, history }: KeyChange): Omit<ScopeRow, 'scope'> {
  const removed = scopeOf(before) === scope ? before : NOTHING_LIVE
  const added = scopeOf(after) === scope ? after : NOTHING_LIVE
  return {
    ...usageAfter(NO_USAGE, usageOf(removed), usageOf(added)),
    pending: Number(added.pending !== null) - Number(removed.pending !== null),
    deleted: history?.scope === scope ? 1 : 0,
  }
}
