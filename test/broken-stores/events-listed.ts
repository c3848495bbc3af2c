import type { ListedEvent } from '../../src/adapter.js'
import { decodeCursor, decodeEventCursor } from '../../src/core/store/cursor.js'
import {
  overDriver,
  driverCall,
  driverInput,
  storeCall,
  storeInput,
  driverResult,
  type Mutants,
} from './mutant.js'

/** Replaces the items of every page of events. */
const overItems = (broken: (item: ListedEvent) => ListedEvent) =>
  overDriver((driver) => ({
    async listEvents(query) {
      const page = await driver.listEvents(query)
      return { ...page, items: page.items.map(broken) }
    },
  }))

function accepts(decode: (cursor: unknown) => string, cursor: unknown): boolean {
  try {
    decode(cursor)
    return true
  } catch {
    return false
  }
}

/** Mutants of `listEvents` and `countEvents`. */
export const eventListMutants: Mutants = {
  'lists claims that were never made': [
    overItems((item) => (item.attempts === 0 ? { ...item, claimedUntil: item.dueAt } : item)),
    'listEvents: shows an event that was never claimed as due when it was recorded',
  ],
  'lists claims as due when they were recorded': [
    overItems((item) => (item.claimedUntil ? { ...item, dueAt: item.createdAt } : item)),
    'listEvents: shows the end of a claim, also when it has expired',
  ],
  'lists retries as claimed': [
    overItems((item) =>
      item.attempts > 0 && !item.claimedUntil ? { ...item, claimedUntil: item.dueAt } : item,
    ),
    'listEvents: shows when an event is retried',
  ],
  'lists events in the order in which they are due': [
    driverCall('listEvents', async ({ limit, after }, driver) => {
      const { items } = await driver.listEvents({ limit: 1000, after: null })
      if (after !== null && !items.some(({ id }) => id === after)) return driver.listEvents({ limit, after })
      items.sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime())
      const start = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1
      const page = items.slice(start, start + limit)
      return { items: page, next: start + limit < items.length ? page.at(-1)!.id : null }
    }),
    'listEvents: returns every event once, page by page, in an order that stays',
  ],
  'continues a list of events by their number': [
    overDriver((driver) => {
      const starts = new Map<string, number>()
      return {
        async listEvents({ limit, after }) {
          const { items } = await driver.listEvents({ limit: 1000, after: null })
          const start = after === null ? 0 : starts.get(after)
          if (start === undefined) return driver.listEvents({ limit, after })
          const next = start + limit < items.length ? `cursor-${start + limit}` : null
          if (next !== null) starts.set(next, start + limit)
          return { items: items.slice(start, start + limit), next }
        },
      }
    }),
    'listEvents: continues after an event that was settled meanwhile',
  ],
  'lists an empty last page of events': [
    driverCall('listEvents', async (query, driver) => {
      const page = await driver.listEvents({ ...query, after: query.after === 'end' ? null : query.after })
      if (query.after === 'end') return { items: [], next: null }
      return page.next === null && page.items.length === query.limit ? { ...page, next: 'end' } : page
    }),
    'listEvents: continues after an event that was settled meanwhile',
    'listEvents: has no next page if the last event fits',
  ],
  'lists 50 events by default': [
    driverInput('listEvents', (query) => ({ ...query, limit: query.limit === 100 ? 50 : query.limit })),
    'listEvents: returns 100 events by default',
  ],
  'counts a look at events as an attempt': [
    overDriver((driver) => {
      let looks = 0
      return {
        async listEvents(query) {
          looks++
          return driver.listEvents(query)
        },
        claimEvents: async (command) =>
          (await driver.claimEvents(command)).map((event) =>
            looks > 1 && command.limit === 100 ? { ...event, attempts: event.attempts + looks } : event,
          ),
      }
    }),
    'listEvents: changes nothing',
  ],
  'starts over if it does not know the cursor of an event list': [
    storeCall('listEvents', (input, store) =>
      store.listEvents(input).catch(() => store.listEvents({ ...input, after: null })),
    ),
    'listEvents: refuses anything but its own cursors',
  ],
  'takes a cursor of rows for one of events': [
    storeInput('listEvents', (input) =>
      accepts(decodeCursor, input?.after) ? { ...input, after: null } : input,
    ),
    'listEvents: refuses cursors of listByScope, which refuses those of listEvents',
  ],
  'takes a cursor of events for one of rows': [
    storeInput('listByScope', (input) =>
      accepts(decodeEventCursor, input?.cursor) ? { ...input, cursor: null } : input,
    ),
    'listEvents: refuses cursors of listByScope, which refuses those of listEvents',
  ],
  'makes event cursors with a character that URLs escape': [
    storeCall('listEvents', async (input, store) => {
      const { after } = input ?? {}
      const given = typeof after === 'string' ? { ...input, after: after.replace(/=$/, '') } : input
      const page = await store.listEvents(given)
      return page.next === null ? page : { ...page, next: `${page.next}=` }
    }),
    'listEvents: has cursors that are URL-safe and at most 200 characters long',
  ],
  'lists no events on an empty page': [
    driverResult('listEvents', (page, query) =>
      page.items.length === 0 && query.limit === 1 ? { items: [], next: 'more' } : page,
    ),
    'listEvents: returns nothing from an empty store',
  ],
  'counts expired claims as running': [
    driverResult('countEvents', async ({ waiting, claimed, retrying }, query, driver) => {
      const { items } = await driver.listEvents({ limit: 1000, after: null })
      const expired = items.filter(({ claimedUntil }) => claimedUntil && claimedUntil <= query.now).length
      return { waiting, claimed: claimed + expired, retrying: retrying - expired }
    }),
    'countEvents: counts events that were never claimed, those under a running claim, and all others',
  ],
  'counts only events that could be claimed': [
    driverResult('countEvents', async (counts, _query, driver) => {
      const { items } = await driver.listEvents({ limit: 1000, after: null })
      const objects = new Set(items.map(({ object }) => object.key)).size
      return { ...counts, waiting: Math.max(0, counts.waiting - (items.length - objects)) }
    }),
    'countEvents: counts events that were never claimed, those under a running claim, and all others',
  ],
}
