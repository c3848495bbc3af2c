import type { AdoptCommand, StoreDriver } from '../../core/store/driver.js'
import { decide, outcomeOf, type KeyWrite, type KeyWriteOutcome } from '../../core/store/lifecycle/decide.js'
import { receivesBytes } from '../../core/store/lifecycle/object.js'
import type { StorageObject } from '../../core/store/records.js'
import { endOfDate } from './sorted-map.js'
import { isRow } from './stored-names.js'
import type { Tables } from './tables.js'

export function writeMethods(tables: Tables) {
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
    reserve: async (command) => write({ kind: 'reserve', command }),
    setUploadId: async (command) => write({ kind: 'setUploadId', command }),
    confirm: async (command) => write({ kind: 'confirm', command }),
    release: async (command) => write({ kind: 'release', command }),
    adopt: async (command) => write({ kind: 'adopt', command }),
    update: async (command) => write({ kind: 'update', command }),
    transfer: async (command) => write({ kind: 'transfer', command }),
    remove: async (command) => write({ kind: 'remove', command }),

    async purgeExpired({ scope, before, limit, now }) {
      const expired = tables.expiring(scope)?.ascending(null, endOfDate(before), limit) ?? []
      const purged = expired.map(({ bucket, key, id }) =>
        write({ kind: 'purge', command: { bucket, key, id, before, now } }),
      )
      return {
        rows: purged.flatMap(({ row }) => row ?? []),
        scopes: [...new Set(purged.flatMap(({ scopes }) => scopes))],
      }
    },

    deferLeftover: async ({ attemptId, until }) => tables.leftovers.defer(attemptId, until),
    forgetLeftover: async (attemptId) => tables.leftovers.forget(attemptId),

    async purgeDeleted({ scope, before, limit }) {
      const rows = tables.deleted(scope)?.ascending(null, endOfDate(before), limit) ?? []
      for (const row of rows) tables.dropHistory(row)
      return { dropped: rows.length, scopes: [...new Set(rows.map((row) => row.scope))] }
    },
  } satisfies Partial<StoreDriver>
}
