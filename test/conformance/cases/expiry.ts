import type { StorageObject } from '../../../src/core/store/records.js'
import { same } from '../assertions.js'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { allOf, idsOf, numbers } from '../given.js'

/** Creates reservations that don't expire in order of creation, and returns them earliest expiry first. */
async function expiring(given: Given): Promise<StorageObject[]> {
  const rows = await given.reserveEach(
    [3, 1, 4, 2, 5].map((minutes) => ({ expiresAt: given.clock.in(minutes * MINUTE) })),
  )
  return [1, 3, 0, 2, 4].map((index) => rows[index]!)
}

export const listExpiredCases: CaseGroup = {
  title: 'listExpired',
  cases: {
    'returns expired rows, earliest expiry first, and changes nothing': async (given) => {
      const { store, clock } = given
      const rows = await expiring(given)
      same(await store.listExpired(), [], 'before any row expires')
      clock.advance(3 * MINUTE)
      same(await store.listExpired(), rows.slice(0, 3))
      same(await store.listExpired({}), rows.slice(0, 3), 'a repeat')
      same(await store.countByScope(given.scope, 'pending'), 5, 'pending rows')
      same((await given.leftovers()).length, 0, 'number of leftovers')
    },

    'includes a row from the millisecond in which it expires': async (given) => {
      const { store, clock } = given
      const row = await given.reserve({ expiresAt: clock.in(MINUTE) })
      clock.advance(MINUTE - 1)
      same(await store.listExpired(), [])
      clock.advance(1)
      same(await store.listExpired(), [row])
      clock.advance(-1)
      same(await store.listExpired(), [], 'after the clock went back')
    },

    'sorts rows with the same expiry by id': async (given) => {
      const { store, clock } = given
      const ids = numbers(5).map(() => given.newId())
      const shuffled = [3, 0, 4, 2, 1].map((index) => ids[index]!)
      await given.reserveEach(shuffled.map((id) => ({ id })))
      clock.advance(HOUR)
      same(idsOf(await store.listExpired()), ids, 'ids')
    },

    'returns only rows of the given scope': async (given) => {
      const { store, clock, scope, otherScope } = given
      const [own, others] = await given.reserveEach([{}, { scope: otherScope }])
      clock.advance(HOUR)
      same(await store.listExpired({ scope }), [own])
      same(await store.listExpired({ scope: otherScope }), [others])
      same(await store.listExpired({ scope: 'unknown' }), [])
      same(await store.listExpired({ scope: null }), [own, others], 'without a scope')
    },

    'treats before as the latest expiry, and a later date than now as now': async (given) => {
      const { store, clock } = given
      const rows = await expiring(given)
      const start = clock.now().getTime()
      clock.advance(3 * MINUTE)
      const until = (minutes: number) => store.listExpired({ before: new Date(start + minutes * MINUTE) })
      same(await until(2), rows.slice(0, 2), 'up to two minutes')
      same(
        await store.listExpired({ before: new Date(start + 2 * MINUTE - 1) }),
        rows.slice(0, 1),
        'just before',
      )
      same(await until(4), rows.slice(0, 3), 'up to a future date')
      same(await store.listExpired({ before: null }), rows.slice(0, 3), 'without before')
      same(await until(0), [], 'up to the start')
    },

    'returns the page after the given item': async (given) => {
      const { store, clock } = given
      const rows = await expiring(given)
      clock.advance(HOUR)
      const first = await store.listExpired({ limit: 2 })
      same(first, rows.slice(0, 2), 'the first page')
      const second = await store.listExpired({ limit: 2, after: first[1] })
      same(second, rows.slice(2, 4), 'the second page')
      same(await store.listExpired({ limit: 2, after: second[1] }), rows.slice(4), 'the third page')
      same(await store.listExpired({ limit: 2, after: rows[4] }), [], 'the page after the last')
      const { id, expiresAt } = rows[1]!
      same(
        await store.listExpired({ limit: 2, after: { id, expiresAt } }),
        rows.slice(2, 4),
        'with a bare position',
      )
      same(await store.listExpired({ after: null }), rows, 'without a position')
    },

    'pages through rows with the same expiry, even if the previous row is gone': async (given) => {
      const { store, clock } = given
      const rows = await given.reserveEach(numbers(5).map(() => ({ id: given.newId() })))
      clock.advance(HOUR)
      const [first, second] = await store.listExpired({ limit: 2 })
      same([first, second], rows.slice(0, 2), 'the first page')
      await store.release(second!)
      same(await store.listExpired({ limit: 2, after: second }), rows.slice(2, 4), 'the second page')
    },

    'returns nothing after an item that expires later than before': async (given) => {
      const { store, clock } = given
      const [first] = await given.reserveEach(numbers(2).map(() => ({ id: given.newId() })))
      clock.advance(HOUR)
      const before = new Date(first!.expiresAt!.getTime() - 1)
      same(await store.listExpired({ before, after: first }), [])
    },

    'returns 100 rows by default': async (given) => {
      const { store, clock } = given
      await allOf(numbers(101).map((index) => given.reserve({ key: `key ${index}` })))
      clock.advance(HOUR)
      same((await store.listExpired()).length, 100, 'rows by default')
      same((await store.listExpired({ limit: 1000 })).length, 101, 'rows with a limit of 1000')
    },

    'includes expired replacements, but no active rows': async (given) => {
      const { store, clock } = given
      await given.activate()
      const replacement = await given.reserve()
      clock.advance(2 * HOUR)
      same(await store.listExpired(), [replacement])
    },
  },
}

export const purgeExpiredCases: CaseGroup = {
  title: 'purgeExpired',
  cases: {
    'removes expired rows and returns them unchanged, earliest expiry first': async (given) => {
      const { store, clock, scope } = given
      const rows = await expiring(given)
      same(await store.purgeExpired(), [], 'before any row expires')
      clock.advance(3 * MINUTE)
      same(await store.purgeExpired(), rows.slice(0, 3))
      same(await store.purgeExpired({}), [], 'a repeat')
      const { objects } = await store.listByScope({ scope })
      same(idsOf(objects).sort(), idsOf(rows.slice(3)).sort(), 'remaining ids')
    },

    'removes only rows that are still pending and have expired': async (given) => {
      const { store, clock, at, scope } = given
      await given.reserveEach([{}, {}, {}])
      const active = await given.confirm({ key: 'key 0' })
      await store.release({ ...at, key: 'key 1' })
      clock.advance(HOUR - 1)
      const renewed = await given.reserve({ key: 'key 2', expiresAt: clock.in(2) })
      clock.advance(1) // key 0 and key 1 would have expired by now; key 2 expires in a millisecond
      same(await store.purgeExpired(), [])
      same((await store.listByScope({ scope })).objects, [renewed, active], 'the rows of the scope')
    },

    'removes an expired replacement, and keeps the object it would have replaced': async (given) => {
      const { store, clock, at } = given
      const active = await given.activate()
      const replacement = await given.reserve()
      clock.advance(2 * HOUR)
      same(await store.purgeExpired(), [replacement])
      same(await store.find(at), active, 'the object')
    },

    'removes only rows of the given scope': async (given) => {
      const { store, clock, scope, otherScope } = given
      const [own, others] = await given.reserveEach([{}, { scope: otherScope }])
      clock.advance(HOUR)
      same(await store.purgeExpired({ scope: 'unknown' }), [])
      same(await store.purgeExpired({ scope }), [own])
      same(await store.find(others!), others, "the other scope's row")
    },

    'treats before as the latest expiry, and a later date than now as now': async (given) => {
      const { store, clock } = given
      const rows = await expiring(given)
      const start = clock.now().getTime()
      clock.advance(3 * MINUTE)
      same(await store.purgeExpired({ before: new Date(start + MINUTE) }), rows.slice(0, 1), 'up to a minute')
      same(await store.purgeExpired({ before: clock.in(HOUR) }), rows.slice(1, 3), 'up to a future date')
      same(await store.countByScope(given.scope), 2, 'remaining rows')
    },

    'removes at most the given number of rows, earliest expiry first': async (given) => {
      const { store, clock } = given
      const rows = await expiring(given)
      clock.advance(HOUR)
      same(await store.purgeExpired({ limit: 2 }), rows.slice(0, 2), 'the first two')
      same(await store.purgeExpired({ limit: 1 }), rows.slice(2, 3), 'the next')
      same(await store.purgeExpired({ limit: 1000 }), rows.slice(3), 'the rest')
    },

    'removes 100 rows by default': async (given) => {
      const { store, clock } = given
      await allOf(numbers(101).map((index) => given.reserve({ key: `key ${index}` })))
      clock.advance(HOUR)
      same((await store.purgeExpired()).length, 100, 'rows by default')
      same((await store.purgeExpired()).length, 1, 'remaining rows')
    },

    'frees the key for any scope': async (given) => {
      const { store, clock, at, otherScope } = given
      await given.reserve()
      clock.advance(HOUR)
      await store.purgeExpired()
      const row = await given.reserve({ scope: otherScope, expiresAt: clock.in(SECOND) })
      same(await store.find(at), row, 'the result of find')
    },
  },
}
