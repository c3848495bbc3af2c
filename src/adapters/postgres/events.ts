import { StorageError } from '../../core/errors.js'
import type { EventClaim, StoreDriver } from '../../core/store/driver.js'
import type { Call } from './connection/retries.js'
import { readNumber } from './statements/object-row.js'
import { readEvent, readListedEvent, type EventStatements } from './statements/events.js'

/**
 * Maximum number of events that one transaction settles. It locks their keys, and all sessions share the lock table of
 * the server.
 */
const SETTLE_BATCH_SIZE = 200

/** The methods of a driver that concern events. */
export type EventMethods = Required<
  Pick<StoreDriver, 'claimEvents' | 'settleEvents' | 'extendClaims' | 'listEvents' | 'countEvents'>
>

/**
 * Creates the event methods. A claim or a settlement whose response was lost is not repeated: a repeat would claim more
 * events, or miss those it settled.
 */
export function createEventMethods(call: Call, statements: EventStatements): EventMethods {
  return {
    async claimEvents({ limit, reference, now, until }) {
      const { bucket, key } = reference ?? { bucket: null, key: null }
      const values = [bucket, key, limit, now.toISOString(), until.toISOString()]
      return (await call(statements.claim, values, { repeatable: false })).map(readEvent)
    },

    async settleEvents({ entries }) {
      const settled: string[] = []
      const known = entries.filter(isKnown)
      for (let from = 0; from < known.length; from += SETTLE_BATCH_SIZE) {
        const batch = known
          .slice(from, from + SETTLE_BATCH_SIZE)
          .map(({ id, claim, retryAt }) => ({ id, claim, retry_at: retryAt }))
        settled.push(...idsOf(await call(statements.settle, [JSON.stringify(batch)], { repeatable: false })))
      }
      return settled
    },

    async extendClaims({ entries, until }) {
      const known = entries.filter(isKnown).map(({ id, claim }) => ({ id, claim }))
      if (known.length === 0) return []
      const values = [JSON.stringify(known), until.toISOString()]
      return idsOf(await call(statements.extend, values, { repeatable: true }))
    },

    async listEvents({ limit, after }) {
      if (after !== null && !isPositive(after, MAX_ID)) throw new StorageError('INVALID_CURSOR')
      const rows = await call(statements.list, [after ?? '0', limit + 1], { repeatable: true })
      const items = rows.slice(0, limit).map(readListedEvent)
      return { items, next: rows.length > limit ? items.at(-1)!.id : null }
    },

    async countEvents({ now }) {
      const [row] = await call(statements.count, [now.toISOString()], { repeatable: true })
      const [waiting, claimed, all] = [row?.[0], row?.[1], row?.[2]].map(readNumber)
      return { waiting: waiting!, claimed: claimed!, retrying: all! - waiting! - claimed! }
    },
  }
}

const MAX_ID = 2n ** 63n - 1n
const MAX_CLAIM = 2n ** 31n - 1n

/** Returns whether the id and the claim can be those of an event. Postgres would reject others. */
function isKnown({ id, claim }: EventClaim): boolean {
  return isPositive(id, MAX_ID) && isPositive(claim, MAX_CLAIM)
}

function isPositive(text: string, max: bigint): boolean {
  return /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= max
}

function idsOf(rows: readonly (readonly (string | null)[])[]): string[] {
  return rows.map(([id]) => id!)
}
