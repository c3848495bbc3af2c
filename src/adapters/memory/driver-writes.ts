import type { AdoptCommand, StoreDriver } from '../../core/store/driver.js'
import {
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
  type KeyChange,
} from '../../core/store/lifecycle.js'
import { copyObject, type StorageObject } from '../../core/store/records.js'
import { NO_USAGE } from '../../core/store/usage.js'
import { endOfDate } from './sorted-map.js'
import { isRow } from './stored-names.js'
import type { Tables } from './tables.js'

type Writes = Pick<
  StoreDriver,
  | 'reserve'
  | 'confirm'
  | 'setUploadId'
  | 'release'
  | 'remove'
  | 'update'
  | 'transfer'
  | 'adopt'
  | 'purgeExpired'
  | 'deferLeftover'
  | 'forgetLeftover'
  | 'purgeDeleted'
>

/** Creates the methods that change rows and leftovers. */
export function writeMethods(tables: Tables): Writes {
  /** Applies a plan. Returns the row, and the scopes whose usage or counts may have changed. */
  function write<Row extends StorageObject | null>(
    plan: KeyChange | { outcome: 'unchanged'; row: Row },
    now: Date,
  ) {
    const row = plan.row && copyObject(plan.row)
    if (plan.outcome === 'unchanged') return { row, scopes: plan.row ? [plan.row.scope] : [] }
    if (plan.event) tables.events.record(plan.event, now)
    return { row, scopes: tables.apply(plan) }
  }

  /** Returns what names the bytes that a command adopts, except the row that receives them. */
  function knownBytes(command: AdoptCommand): StorageObject | 'leftover' | null {
    // At most one row receives the bytes, so it hides at most one of two.
    const named = tables.names.named(command.bucket, command.storageKey, 2)
    const known = named.find((naming) => !isRow(naming) || !receivesBytes(naming, command))
    if (!known) return null
    return isRow(known) ? known : 'leftover'
  }

  return {
    async reserve(command) {
      const plan = planReserve(tables.liveRows(command), tables.usage(command.scope), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan, command.now)
      return { outcome: 'reserved', row, scopes }
    },

    async confirm(command) {
      const rows = tables.liveRows(command)
      const scope = (rows.active ?? rows.pending)?.scope ?? null
      const plan = planConfirm(rows, scope === null ? NO_USAGE : tables.usage(scope), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan, command.now)
      return { outcome: 'confirmed', row, scopes }
    },

    async setUploadId(command) {
      const plan = planSetUploadId(tables.liveRows(command), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan, command.now)
      return { outcome: 'set', row, scopes }
    },

    async release(command) {
      return write(planRelease(tables.liveRows(command), command), command.now)
    },

    async remove(command) {
      return write(planRemove(tables.liveRows(command), command), command.now)
    },

    async update(command) {
      return write(planUpdate(tables.liveRows(command), command), command.now)
    },

    async transfer(command) {
      const { from, to, now } = command
      const plan = planTransfer(tables.liveRows(command), tables.usage(to), command)
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan, now)
      // A call that finds its work done still names both: the call that did it may not have reported them.
      return { outcome: 'transferred', row, scopes: row ? [...new Set([from, to])] : scopes }
    },

    async adopt(command) {
      const rows = tables.liveRows(command)
      const plan = planAdopt(rows, tables.usage(command.scope), command, knownBytes(command))
      if (plan.outcome === 'known') {
        const object = plan.object && copyObject(plan.object)
        return { outcome: 'known', object, scopes: object ? [object.scope] : [] }
      }
      if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') return plan
      const { row, scopes } = write(plan, command.now)
      return { outcome: 'adopted', row, scopes }
    },

    async purgeExpired({ scope, before, limit, now }) {
      const rows: StorageObject[] = []
      const scopes = new Set<string>()
      for (const expired of tables.expiring(scope)?.ascending(null, endOfDate(before), limit) ?? []) {
        const removed = write(planPurge(tables.liveRows(expired), expired.id, before, now), now)
        if (removed.row) rows.push(removed.row)
        for (const touched of removed.scopes) scopes.add(touched)
      }
      return { rows, scopes: [...scopes] }
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
  }
}
