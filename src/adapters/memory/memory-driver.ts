import {
  hasExpired,
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
  type KeyChange,
} from '../../core/store/lifecycle.js'
import {
  copyObject,
  type Leftover,
  type ObjectReference,
  type StorageObject,
} from '../../core/store/records.js'
import type { FindQuery, StoreDriver } from '../../core/store/driver.js'
import { NO_USAGE } from '../../core/store/usage.js'
import { datePosition, endOfDate } from './date-position.js'
import { duePosition } from './leftover-table.js'
import type { Tables } from './tables.js'

function copyLeftover(leftover: Leftover): Leftover {
  const { since, writableUntil, dueAt } = leftover
  return {
    ...leftover,
    since: new Date(since),
    writableUntil: new Date(writableUntil),
    dueAt: dueAt && new Date(dueAt),
  }
}

function copyWithoutMetadata(row: StorageObject): StorageObject {
  return copyObject({ ...row, metadata: null })
}

/** Copies the row unless it belongs to another scope than the query names. */
function copyOwn(row: StorageObject | null, { scope }: FindQuery): StorageObject | null {
  return row && (scope === null || row.scope === scope) ? copyObject(row) : null
}

/** Creates the store driver over tables in memory. Every method is atomic because it never awaits. */
export function createMemoryDriver(tables: Tables): StoreDriver {
  /** Applies a plan. Returns the row, and the scopes whose usage or counts may have changed. */
  function write<Row extends StorageObject | null>(plan: KeyChange | { outcome: 'unchanged'; row: Row }) {
    const scopes = plan.outcome === 'change' ? tables.apply(plan) : plan.row ? [plan.row.scope] : []
    return { row: plan.row && copyObject(plan.row), scopes }
  }

  function findPending(
    reference: ObjectReference,
    wanted: (pending: StorageObject) => boolean,
  ): StorageObject | null {
    const { pending } = tables.liveRows(reference)
    return pending && wanted(pending) ? copyObject(pending) : null
  }

  return {
    contract: '1.6',

    async list({ scope, statuses, route, before, limit, withMetadata }) {
      const rows = tables.rows(scope, route)
      if (!rows) return []
      const pages = statuses.map((status) => rows[status].descending(before, limit))
      return newestFirst(pages, limit).map(withMetadata ? copyObject : copyWithoutMetadata)
    },

    async count({ scope, statuses }) {
      const rows = tables.rows(scope, null)
      return statuses.reduce((sum, status) => sum + (rows?.[status].size ?? 0), 0)
    },

    async usage(scope) {
      return { ...tables.usage(scope) }
    },

    async find(query) {
      const { active, pending } = tables.liveRows(query)
      return copyOwn(active ?? pending ?? tables.newestDeleted(query), query)
    },

    async findActive(query) {
      return copyOwn(tables.liveRows(query).active, query)
    },

    async findPending(query) {
      return findPending(
        query,
        ({ id, scope, uploadId }) =>
          (query.scope === null || query.scope === scope) &&
          (query.id === null || query.id === id) &&
          (query.uploadId === null || query.uploadId === uploadId),
      )
    },

    async findPendingMultipart(query) {
      return findPending(
        query,
        (pending) =>
          pending.uploadId !== null &&
          pending.declaredSize === query.fileSize &&
          !hasExpired(pending, query.now),
      )
    },

    async reserve(command) {
      const plan = planReserve(tables.liveRows(command), tables.usage(command.scope), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan)
      return { outcome: 'reserved', row, scopes }
    },

    async confirm(command) {
      const rows = tables.liveRows(command)
      const scope = (rows.active ?? rows.pending)?.scope ?? null
      const plan = planConfirm(rows, scope === null ? NO_USAGE : tables.usage(scope), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan)
      return { outcome: 'confirmed', row, scopes }
    },

    async setUploadId(command) {
      const plan = planSetUploadId(tables.liveRows(command), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan)
      return { outcome: 'set', row, scopes }
    },

    async release(command) {
      return write(planRelease(tables.liveRows(command), command))
    },

    async remove(command) {
      return write(planRemove(tables.liveRows(command), command))
    },

    async listExpired({ scope, before, limit, after }) {
      const from = after && datePosition(after.expiresAt, after.id)
      return tables.expiring(scope)?.ascending(from, endOfDate(before), limit).map(copyObject) ?? []
    },

    async purgeExpired({ scope, before, limit, now }) {
      const rows: StorageObject[] = []
      const scopes = new Set<string>()
      for (const expired of tables.expiring(scope)?.ascending(null, endOfDate(before), limit) ?? []) {
        const removed = write(planPurge(tables.liveRows(expired), expired.id, before, now))
        if (removed.row) rows.push(removed.row)
        for (const touched of removed.scopes) scopes.add(touched)
      }
      return { rows, scopes: [...scopes] }
    },

    async listLeftovers({ scope, limit, after }) {
      const from = after && datePosition(after.since, after.attemptId)
      return tables.leftovers.of(scope)?.bySince.ascending(from, null, limit).map(copyLeftover) ?? []
    },

    async listDueLeftovers({ scope, dueBefore, limit, after }) {
      const from = after && duePosition(after)
      const { byDue } = tables.leftovers.of(scope) ?? {}
      return byDue?.ascending(from, endOfDate(dueBefore), limit).map(copyLeftover) ?? []
    },

    async deferLeftover({ attemptId, until }) {
      return tables.leftovers.defer(attemptId, until)
    },

    async forgetLeftover(attemptId) {
      return tables.leftovers.forget(attemptId)
    },

    async purgeDeleted({ scope, before, limit }) {
      const rows = tables.deleted(scope)?.ascending(null, endOfDate(before), limit) ?? []
      for (const row of rows) tables.dropHistory(row)
      return { dropped: rows.length, scopes: [...new Set(rows.map((row) => row.scope))] }
    },

    async migrate() {
      return { from: 0, to: 0 }
    },

    async verify() {
      return []
    },

    async checkUsage(scope) {
      return tables.recount(scope, false)
    },

    async repairUsage(scope) {
      return tables.recount(scope, true)
    },

    async ping() {},

    async close() {},
  }
}

/** Merges pages that are sorted newest first. */
function newestFirst(pages: readonly StorageObject[][], limit: number): StorageObject[] {
  if (pages.length === 1) return pages[0]!
  return pages
    .flat()
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit)
}
