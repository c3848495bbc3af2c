import type { FindQuery, StoreDriver } from '../../core/store/driver.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import { copyObject, type ObjectReference, type StorageObject } from '../../core/store/records.js'
import { copyLeftover, duePosition } from './leftover-table.js'
import { datePosition, endOfDate } from './sorted-map.js'
import { isRow, storedName } from './stored-names.js'
import type { Tables } from './tables.js'

/** Copies the row unless it belongs to another scope than the query names. */
function copyOwn(row: StorageObject | null, { scope }: FindQuery): StorageObject | null {
  return row && (scope === null || row.scope === scope) ? copyObject(row) : null
}

export function readMethods(tables: Tables) {
  function findPending(
    reference: ObjectReference,
    wanted: (pending: StorageObject) => boolean,
  ): StorageObject | null {
    const { pending } = tables.liveRows(reference)
    return pending && wanted(pending) ? copyObject(pending) : null
  }

  return {
    async list({ scope, statuses, route, before, limit, withMetadata }) {
      const rows = tables.rows(scope, route)
      if (!rows) return []
      const pages = statuses.map((status) => rows[status].descending(before, limit))
      return newestFirst(pages, limit).map((row) =>
        copyObject(withMetadata ? row : { ...row, metadata: null }),
      )
    },

    async count({ scope, statuses }) {
      const rows = tables.rows(scope, null)
      return statuses.reduce((sum, status) => sum + (rows?.[status].size ?? 0), 0)
    },

    usage: async (scope) => ({ ...tables.usage(scope) }),

    async find(query) {
      const { active, pending } = tables.liveRows(query)
      return copyOwn(active ?? pending ?? tables.newestDeleted(query), query)
    },

    findActive: async (query) => copyOwn(tables.liveRows(query).active, query),

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

    async findById({ id, scope }) {
      const row = tables.ids.find(id, scope)
      return row && copyObject(row)
    },

    async listScopes({ limit, after }) {
      return tables.scopes(after, limit).map(({ scope, usage, rows: { active, pending, deleted } }) => ({
        scope,
        usage: { ...usage },
        counts: { active: active.size, pending: pending.size, deleted: deleted.size },
      }))
    },

    async listStored(query) {
      return tables.names.page(query).map((naming) => {
        const storageKey = storedName(naming)
        return isRow(naming)
          ? { storageKey, object: copyObject(naming) }
          : { storageKey, leftover: copyLeftover(naming) }
      })
    },

    async listExpired({ scope, before, limit, after }) {
      const from = after && datePosition(after.expiresAt, after.id)
      return tables.expiring(scope)?.ascending(from, endOfDate(before), limit).map(copyObject) ?? []
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
  } satisfies Partial<StoreDriver>
}

/** Merges pages that are sorted newest first. */
function newestFirst(pages: readonly StorageObject[][], limit: number): StorageObject[] {
  return pages.reduce((one, other) => {
    const merged: StorageObject[] = []
    let [i, j] = [0, 0]
    while (merged.length < limit && (i < one.length || j < other.length)) {
      const isFirst = j === other.length || (i < one.length && one[i]!.id > other[j]!.id)
      merged.push(isFirst ? one[i++]! : other[j++]!)
    }
    return merged
  })
}
