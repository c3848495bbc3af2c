import { StorageError } from '../../core/errors.js'
import type { StoreDriver } from '../../core/store/driver.js'
import type { TextRow } from './connection/database.js'
import type { Call } from './connection/retries.js'
import {
  eventId,
  type EventPlace,
  isPosition,
  parseClaim,
  readEvent,
  readListedEvent,
} from './sql/event-statements.js'
import { readNumber } from './sql/rows.js'
import type { Statements } from './sql/statement.js'

/**
 * Maximum number of events that one transaction settles. It locks their keys, and all sessions share the lock table of
 * the server.
 */
const SETTLE_BATCH_SIZE = 200

/**
 * Creates the event methods. A claim or a settlement whose response was lost is not repeated: a repeat would claim more
 * events, or miss those it settled.
 */
export function createEventMethods(call: Call, statements: Statements['events']) {
  return {
    async claimEvents({ limit, reference, attempted, now, until }) {
      const { bucket, key } = reference ?? { bucket: null, key: null }
      const values = [bucket, key, attempted, limit, now.toISOString(), until.toISOString()]
      return (await call(statements.claim, values, { repeatable: false })).map(readEvent)
    },

    async settleEvents({ entries }) {
      const settled: string[] = []
      for (let from = 0; from < entries.length; from += SETTLE_BATCH_SIZE) {
        const batch = entries.slice(from, from + SETTLE_BATCH_SIZE)
        const places = batch.flatMap((entry) => {
          const place = parseClaim(entry)
          return place === null ? [] : [{ ...place, retry_at: entry.retryAt }]
        })
        if (places.length === 0) continue
        try {
          const rows = await call(statements.settle, [JSON.stringify(places)], { repeatable: false })
          settled.push(...idsOf(places, rows))
        } catch (error) {
          if (settled.length === 0) throw error
          return settled
        }
      }
      return settled
    },

    async extendClaims({ entries, until }) {
      const places = entries.map(parseClaim).filter((place) => place !== null)
      if (places.length === 0) return []
      const values = [JSON.stringify(places), until.toISOString()]
      return idsOf(places, await call(statements.extend, values, { repeatable: true }))
    },

    async listEvents({ limit, after }) {
      if (after !== null && !isPosition(after)) throw new StorageError('INVALID_CURSOR')
      const rows = await call(statements.list, [after ?? '0', limit + 1], { repeatable: true })
      return {
        items: rows.slice(0, limit).map(readListedEvent),
        next: rows.length > limit ? rows[limit - 1]![2]! : null,
      }
    },

    async countEvents({ now }) {
      const [row] = await call(statements.count, [now.toISOString()], { repeatable: true })
      const [waiting, claimed, all] = [row?.[0], row?.[1], row?.[2]].map(readNumber)
      return { waiting: waiting!, claimed: claimed!, retrying: all! - waiting! - claimed! }
    },

    recordsEvents: async () => (await call(statements.isOn, [], { repeatable: true })).length > 0,
  } satisfies Partial<StoreDriver>
}

function idsOf(places: readonly EventPlace[], rows: readonly TextRow[]): string[] {
  const positions = new Set(rows.map(([position]) => position))
  return places.filter(({ id }) => positions.has(id)).map(eventId)
}
