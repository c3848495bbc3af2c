import type { ListedEvent } from '../../../src/core/store/events.js'
import { holds, refused, same } from '../assertions.js'
import { allEvents } from '../event-views.js'
import { HOUR, MINUTE } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { numbers } from '../given.js'

const EMPTY = { items: [], next: null }

/** Creates this many objects, one after the other. */
async function objects(given: Given, count: number): Promise<void> {
  for (const number of numbers(count)) await given.activate({ key: `key ${number}` })
}

const keysOf = (items: readonly ListedEvent[]) => items.map(({ object }) => object.key)

async function onlyEvent({ store }: Given): Promise<ListedEvent> {
  const { items } = await store.listEvents()
  same(items.length, 1, 'events')
  return items[0]!
}

export const listEventsCases: CaseGroup = {
  title: 'listEvents',
  events: true,
  cases: {
    'returns nothing from an empty store': async ({ store }) => {
      same(await store.listEvents(), EMPTY)
      same(await store.listEvents({ limit: 1 }), EMPTY)
    },

    'shows an event that was never claimed as due when it was recorded': async (given) => {
      const { clock } = given
      const object = await given.activate({ metadata: { a: '1' } })
      const now = clock.now()
      clock.advance(HOUR)
      const { id, ...event } = await onlyEvent(given)
      holds(typeof id === 'string', 'the id is not a string')
      same(event, {
        ...{ type: 'activated', object, previous: null, createdAt: now },
        ...{ attempts: 0, dueAt: now, claimedUntil: null },
      })
    },

    'shows the end of a claim, also when it has expired': async (given) => {
      const { store, clock } = given
      await given.activate()
      const before = await onlyEvent(given)
      const [event] = await store.claimEvents({ claimSeconds: 90 })
      const until = clock.in(1.5 * MINUTE)
      const claimed = { ...before, attempts: 1, dueAt: until, claimedUntil: until }
      same(await onlyEvent(given), claimed, 'the claimed event')
      same(event!.id, before.id, 'the id of the claimed event')
      clock.advance(HOUR)
      same(await onlyEvent(given), claimed, 'the event with an expired claim')
      await store.extendClaims([{ id: event!.id, claim: event!.claim }])
      const extended = clock.in(MINUTE)
      same(
        await onlyEvent(given),
        { ...claimed, dueAt: extended, claimedUntil: extended },
        'the extended claim',
      )
    },

    'shows when an event is retried': async (given) => {
      const { store, clock } = given
      await given.activate()
      const before = await onlyEvent(given)
      const [event] = await store.claimEvents()
      const retryAt = clock.in(HOUR)
      await store.settleEvents([{ id: event!.id, claim: event!.claim, retryAt }])
      same(await onlyEvent(given), { ...before, attempts: 1, dueAt: retryAt, claimedUntil: null })
    },

    'returns every event once, page by page, in an order that stays': async (given) => {
      const { store, clock } = given
      await objects(given, 5)
      await objects(given, 2)
      const all = (await store.listEvents({ limit: 1000 })).items
      same(all.length, 7, 'events')
      same(await allEvents(store), all, 'events by pages of two')
      const [claimed] = await store.claimEvents({ limit: 1 })
      clock.advance(HOUR)
      await store.settleEvents([{ id: claimed!.id, claim: claimed!.claim, retryAt: clock.in(HOUR) }])
      const later = (await allEvents(store)).map(({ id }) => id)
      same(
        later,
        all.map(({ id }) => id),
        'ids after a retry',
      )
    },

    'continues after an event that was settled meanwhile': async (given) => {
      const { store, at } = given
      await objects(given, 4)
      const { items, next } = await store.listEvents({ limit: 2 })
      for (const { object } of items) {
        const claimed = await store.claimEvents({ ...at, key: object.key })
        same(claimed.length, 1, 'claimed events of an object')
        await store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim })))
      }
      const rest = await store.listEvents({ limit: 2, after: next })
      const keys = [...keysOf(items), ...keysOf(rest.items)].sort()
      same(keys, ['key 0', 'key 1', 'key 2', 'key 3'], 'keys of both pages')
      same(rest.next, null, 'the next page')
    },

    'has no next page if the last event fits': async (given) => {
      const { store } = given
      await objects(given, 3)
      same((await store.listEvents({ limit: 3 })).next, null, 'next after exactly as many')
      const { next } = await store.listEvents({ limit: 2 })
      holds(typeof next === 'string', 'the first of two pages has no next one')
      same((await store.listEvents({ limit: 2, after: next })).next, null, 'next after the last page')
    },

    'returns 100 events by default': async (given) => {
      const { store } = given
      await objects(given, 101)
      const { items, next } = await store.listEvents()
      same(items.length, 100, 'events')
      same((await store.listEvents({ after: next })).items.length, 1, 'events of the next page')
    },

    'changes nothing': async (given) => {
      const { store } = given
      await objects(given, 3)
      await allEvents(store)
      await store.countEvents()
      same(await store.countEvents(), { waiting: 3, claimed: 0, retrying: 0 }, 'counts')
      same(
        (await store.claimEvents()).map(({ attempts }) => attempts),
        [1, 1, 1],
        'attempts',
      )
    },

    'refuses cursors of listByScope, which refuses those of listEvents': async (given) => {
      const { store, scope } = given
      await objects(given, 2)
      const { nextCursor } = await store.listByScope({ scope, limit: 1 })
      const { next } = await store.listEvents({ limit: 1 })
      holds(typeof next === 'string' && next !== nextCursor, 'both lists have the same cursor')
      await refused(() => store.listEvents({ after: nextCursor }), 'INVALID_CURSOR')
      await refused(() => store.listByScope({ scope, cursor: next }), 'INVALID_CURSOR')
    },

    'has cursors that are URL-safe and at most 200 characters long': async (given) => {
      await objects(given, 2)
      const { next } = await given.store.listEvents({ limit: 1 })
      holds(
        /^[A-Za-z0-9._~-]{1,200}$/.test(next ?? ''),
        `"${next}" is not URL-safe, or not of 1 to 200 characters`,
      )
    },

    'refuses anything but its own cursors': async (given) => {
      const { store } = given
      await objects(given, 2)
      const { next } = await store.listEvents({ limit: 1 })
      const texts = [
        '',
        'x',
        '0',
        '-1',
        ' ',
        '\0',
        '\ud800',
        'null',
        '{"$gt":""}',
        'x'.repeat(201),
        'x'.repeat(1e5),
      ]
      const others = [5, 0, true, {}, [next], Symbol('cursor'), new Date(0)]
      for (const after of [...texts, `${next} `, ` ${next}`, `${next}x`, ...others]) {
        await refused(() => store.listEvents({ after: after as string }), 'INVALID_CURSOR')
      }
    },
  },
}

export const countEventsCases: CaseGroup = {
  title: 'countEvents',
  events: true,
  cases: {
    'counts events that were never claimed, those under a running claim, and all others': async (given) => {
      const { store, clock } = given
      same(await store.countEvents(), { waiting: 0, claimed: 0, retrying: 0 }, 'without events')
      await objects(given, 4)
      await given.activate({ key: 'key 0' })
      same(await store.countEvents(), { waiting: 5, claimed: 0, retrying: 0 }, 'before the first claim')
      const claimed = await store.claimEvents({ limit: 3 })
      same(await store.countEvents(), { waiting: 2, claimed: 3, retrying: 0 }, 'with claims')
      const [a, b] = claimed.map(({ id, claim }) => ({ id, claim }))
      await store.settleEvents([a!, { ...b!, retryAt: clock.in(HOUR) }])
      same(await store.countEvents(), { waiting: 2, claimed: 1, retrying: 1 }, 'with a retry')
      clock.advance(MINUTE - 1)
      same(await store.countEvents(), { waiting: 2, claimed: 1, retrying: 1 }, 'before the claim ends')
      clock.advance(1)
      same(await store.countEvents(), { waiting: 2, claimed: 0, retrying: 2 }, 'when the claim ends')
    },
  },
}
