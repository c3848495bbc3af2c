import type { AdoptCommand, FindQuery, StoreDriver } from '../../core/store/driver.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import { decide, outcomeOf, type KeyWrite, type KeyWriteOutcome } from '../../core/store/lifecycle/decide.js'
import { receivesBytes } from '../../core/store/lifecycle/plans.js'
import { refuseKeep, rowToKeep } from '../../core/store/lifecycle/temporary.js'
import { refuseRejected } from '../../core/store/lifecycle/verdicts.js'
import { copyObject, type StorageObject } from '../../core/store/records.js'
import { copyLeftover, duePosition } from './leftover-table.js'
import { datePosition, endOfDate } from './sorted-map.js'
import { isRow, storedName } from './stored-names.js'
import type { Tables } from './tables.js'

/** Creates the store driver over tables in memory. Every method is atomic because it never awaits. */
export function createMemoryDriver(tables: Tables): StoreDriver {
  const { events } = tables
  const usage = (scope: string) => tables.usage(scope)

  /** Returns what names the bytes that a command adopts, except the row that receives them. */
  function known(command: AdoptCommand): StorageObject | 'leftover' | null {
    // At most one row receives the bytes, so it hides at most one of two.
    const named = tables.names.named(command.bucket, command.storageKey, 2)
    const known = named.find((naming) => !isRow(naming) || !receivesBytes(naming, command))
    if (!known) return null
    return isRow(known) ? known : 'leftover'
  }

  function write<Write extends KeyWrite>(keyWrite: Write): KeyWriteOutcome<Write> {
    const { command } = keyWrite
    const decision = decide(keyWrite, { live: tables.liveRows(command), usage, known })
    if (decision.outcome === 'change') {
      if (decision.event) tables.events.record(decision.event, command.now)
      tables.apply(decision)
    }
    return outcomeOf(keyWrite, decision)
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
      const { id, uploadId } = query
      const row = copyOwn(tables.liveRows(query).pending, query)
      const isWanted = (id === null || row?.id === id) && (uploadId === null || row?.uploadId === uploadId)
      return isWanted ? row : null
    },

    async findPendingMultipart(query) {
      const row = tables.liveRows(query).pending
      const isWanted =
        row?.uploadId != null && row.declaredSize === query.fileSize && !hasExpired(row, query.now)
      return isWanted ? copyObject(row) : null
    },

    reserve: async (command) => write({ kind: 'reserve', command }),
    setUploadId: async (command) => write({ kind: 'setUploadId', command }),
    async confirm(command) {
      const result = write({ kind: 'confirm', command })
      if (result.outcome !== 'not-found' || command.id === null) return result
      return refuseRejected(command, tables.rejections.get(command.id)) ?? result
    },
    release: async (command) => write({ kind: 'release', command }),
    adopt: async (command) => write({ kind: 'adopt', command }),
    update: async (command) => write({ kind: 'update', command }),
    transfer: async (command) => write({ kind: 'transfer', command }),
    remove: async (command) => write({ kind: 'remove', command }),

    async keep({ scope, objects, now }) {
      const named = objects.map((object) => ({ ...object, scope, now }))
      const found = named.map((object) => {
        const rows = tables.ids.named(object.id)
        return rows.map((row) => rowToKeep(tables.liveRows(row), object)).find((row) => row !== null) ?? null
      })
      const refusal = refuseKeep(found)
      if (refusal) return refusal
      const kept = named.map((object, index) => {
        const { bucket, key } = found[index]!
        return write({ kind: 'keepOne', command: { ...object, bucket, key } }).row!
      })
      return { outcome: 'kept', rows: kept }
    },

    async listTemporary({ scope, before, limit, after }) {
      const from = after && datePosition(after.temporaryUntil, after.id)
      return tables.dated(scope)?.temporary.ascending(from, endOfDate(before), limit).map(copyObject) ?? []
    },

    async endTemporary({ objects, ...rest }) {
      const ended = objects.map((object) => write({ kind: 'endOne', command: { ...object, ...rest } }))
      return { rows: ended.flatMap(({ row }) => row ?? []) }
    },

    async listArrived({ scope, dueBefore, limit, after }) {
      const from = after && datePosition(after.expiresAt, after.id)
      const upTo = dueBefore && endOfDate(dueBefore)
      return tables.dated(scope)?.arrived.ascending(from, upTo, limit).map(copyObject) ?? []
    },

    reject: async (command) => write({ kind: 'reject', command }),

    findById: async (query) => copyOwn(tables.ids.find(query.id, query.scope), query),

    async listScopes(query) {
      return tables.scopes(query).map(({ scope, usage, rows: { active, pending, deleted } }) => ({
        scope,
        usage: { ...usage },
        counts: { active: active.size, pending: pending.size, deleted: deleted.size },
      }))
    },

    async listStored(query) {
      return tables.names.page(query).map((naming) => {
        const storageKey = storedName(naming)
        return isRow(naming)
          ? { storageKey, object: copyObject(query.withMetadata ? naming : { ...naming, metadata: null }) }
          : { storageKey, leftover: copyLeftover(naming) }
      })
    },

    claimEvents: async (command) => events.claim(command),
    settleEvents: async (command) => events.settle(command),
    extendClaims: async (command) => events.extend(command),
    listEvents: async (query) => events.page(query),
    countEvents: async (query) => events.count(query),
    recordsEvents: async () => events.isRecording,

    async listExpired({ scope, before, limit, after }) {
      const from = after && datePosition(after.expiresAt, after.id)
      return tables.dated(scope)?.expiring.ascending(from, endOfDate(before), limit).map(copyObject) ?? []
    },

    async purgeExpired({ scope, before, limit, now }) {
      const expired = tables.dated(scope)?.expiring.ascending(null, endOfDate(before), limit) ?? []
      const purged = expired.map(({ bucket, key, id }) =>
        write({ kind: 'purge', command: { bucket, key, id, before, now } }),
      )
      return { rows: purged.flatMap(({ row }) => row ?? []) }
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

    deferLeftover: async (command) => tables.leftovers.defer(command),
    forgetLeftover: async (attemptId) => tables.leftovers.forget(attemptId),

    async purgeDeleted({ id, scope, before, limit }) {
      const rows =
        id === null
          ? (tables.dated(scope)?.deleted.ascending(null, endOfDate(before), limit) ?? [])
          : tables.ids.deleted(id, scope, before).slice(0, limit)
      for (const row of rows) tables.dropHistory(row)
      if (id === null) tables.rejections.forgetUntil(before, scope)
      return { dropped: rows.length }
    },

    migrate: async () => ({ from: 0, to: 0 }),
    verify: async () => [],
    checkUsage: async (scope) => tables.recount(scope, false),
    repairUsage: async (scope) => tables.recount(scope, true),
    ping: async () => undefined,
    close: async () => undefined,
  }
}

/** Copies the row, unless it belongs to another scope than the query names. */
function copyOwn(row: StorageObject | null, { scope }: Pick<FindQuery, 'scope'>): StorageObject | null {
  return row && (scope === null || row.scope === scope) ? copyObject(row) : null
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
