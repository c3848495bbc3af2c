import type { ListedEvent, SettledEvent, StoreDriver } from '@svc/db/adapter'
import { eventsOf, oldestOfEach } from '../broken-stores/event-driver.js'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Each id and claim has the maximum of 100 characters, which are two UTF-16 units each. */
const LENGTH = 100
const FILLER = '\u{1d11e}'

const opaque = (text: string) => text + FILLER.repeat(LENGTH - text.length)
/** Returns the text behind an opaque one. Any other text becomes one that the driver doesn't know. */
const plain = (text: string) => ([...text].length === LENGTH ? text.replace(/\u{1d11e}+$/u, '') : `?${text}`)

type EventMethods = Pick<StoreDriver, 'claimEvents' | 'settleEvents' | 'extendClaims' | 'listEvents'>

/**
 * Uses the freedoms that the contract gives to events: their ids and claims are opaque, events that are due or were recorded
 * at the same moment come in another order, and entries are settled one by one.
 */
export function permissiveEvents(driver: StoreDriver): EventMethods {
  return {
    async claimEvents({ limit, reference, attempted, lastScopes, now, until }) {
      await nextTurn()
      const isLast = ({ object }: ListedEvent) => Number(lastScopes.includes(object.scope))
      const due = oldestOfEach(await eventsOf(driver)).filter(
        ({ dueAt, attempts }) => dueAt <= now && (attempted === null || attempted === attempts > 0),
      )
      const references = reference
        ? [reference]
        : due
            .sort(
              (a, b) => isLast(a) - isLast(b) || a.dueAt.getTime() - b.dueAt.getTime() || compare(b.id, a.id),
            )
            .slice(0, limit)
            .map(({ object: { bucket, key } }) => ({ bucket, key }))
      const claimed = references.map((each) =>
        driver.claimEvents({ limit: 1, reference: each, attempted, lastScopes: [], now, until }),
      )
      const events = (await Promise.all(claimed)).flat()
      return events.map((event) => ({ ...event, id: opaque(event.id), claim: opaque(event.claim) }))
    },

    async settleEvents({ entries, now }) {
      const settled: SettledEvent[] = []
      for (const { id, claim, retryAt } of entries.toReversed()) {
        await nextTurn()
        settled.push(
          ...(await driver.settleEvents({ entries: [{ id: plain(id), claim: plain(claim), retryAt }], now })),
        )
      }
      return settled.map((event) => ({ ...event, id: opaque(event.id) }))
    },

    async extendClaims({ entries, until }) {
      const extended: string[] = []
      for (const { id, claim } of entries.toReversed()) {
        await nextTurn()
        extended.push(
          ...(await driver.extendClaims({ entries: [{ id: plain(id), claim: plain(claim) }], until })),
        )
      }
      return extended.map(opaque)
    },

    async listEvents({ limit, after }) {
      const positioned = (await eventsOf(driver)).map((event) => ({ position: positionOf(event), event }))
      const rest = positioned
        .filter(({ position }) => after === null || position > after)
        .sort((a, b) => compare(a.position, b.position))
      const page = rest.slice(0, limit)
      return {
        items: page.map(({ event }) => ({ ...event, id: opaque(event.id) })),
        next: rest.length > limit ? page.at(-1)!.position : null,
      }
    },
  }
}

/** Sorts by the time of recording, and events of the same time in no order that has a meaning. */
function positionOf({ id, createdAt }: { readonly id: string; readonly createdAt: Date }): string {
  return `${createdAt.toISOString()} ${[...id].reverse().join('')}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
