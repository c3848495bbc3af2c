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
import type { StoreDriver } from '../../core/store/driver.js'
import { NO_USAGE } from '../../core/store/usage.js'
import { datePosition, endOfDate, type Tables } from './tables.js'

function copyLeftover(leftover: Leftover): Leftover {
  return { ...leftover, since: new Date(leftover.since), writableUntil: new Date(leftover.writableUntil) }
}

const copyOrNull = (row: StorageObject | null) => row && copyObject(row)

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
    async list({ scope, statuses, route, before, limit }) {
      const rows = tables.rows(scope, route)
      if (!rows) return []
      const pages = statuses.map((status) => rows[status].descending(before, limit))
      return newestFirst(pages, limit).map(copyObject)
    },

    async count({ scope, statuses }) {
      const rows = tables.rows(scope, null)
      return statuses.reduce((sum, status) => sum + (rows?.[status].size ?? 0), 0)
    },

    async usage(scope) {
      return { ...tables.usage(scope) }
    },

    async find(reference) {
      const { active, pending } = tables.liveRows(reference)
      return copyOrNull(active ?? pending ?? tables.newestDeleted(reference))
    },

    async findActive(reference) {
      return copyOrNull(tables.liveRows(reference).active)
    },

    async findPending(query) {
      return findPending(
        query,
        ({ id, uploadId }) =>
          (query.id === null || query.id === id) && (query.uploadId === null || query.uploadId === uploadId),
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
      const expiring = scope === null ? tables.expiring : tables.expiringIn(scope)
      const from = after && datePosition(after.expiresAt, after.id)
      return expiring?.ascending(from, endOfDate(before), limit).map(copyObject) ?? []
    },

    async purgeExpired({ scope, before, limit, now }) {
      const expiring = scope === null ? tables.expiring : tables.expiringIn(scope)
      const rows: StorageObject[] = []
      const scopes = new Set<string>()
      for (const expired of expiring?.ascending(null, endOfDate(before), limit) ?? []) {
        const removed = write(planPurge(tables.liveRows(expired), expired.id, before, now))
        if (removed.row) rows.push(removed.row)
        for (const touched of removed.scopes) scopes.add(touched)
      }
      return { rows, scopes: [...scopes] }
    },

    async listLeftovers({ limit, after }) {
      const from = after && datePosition(after.since, after.attemptId)
      return tables.leftovers.ascending(from, null, limit).map(copyLeftover)
    },

    async forgetLeftover(attemptId) {
      return tables.forgetLeftover(attemptId)
    },

    async purgeDeleted({ before, limit }) {
      const rows = tables.deleted.ascending(null, endOfDate(before), limit)
      for (const row of rows) tables.dropHistory(row)
      return { dropped: rows.length, scopes: [...new Set(rows.map(({ scope }) => scope))] }
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
