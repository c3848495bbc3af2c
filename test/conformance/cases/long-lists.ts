import type { Leftover, ScopeSummary, StorageObject, StoredItem } from '../../../src/core/store/records.js'
import { same } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup, Given } from '../given.js'
import { allOf, idsOf, numbers } from '../given.js'

/** One more than the longest page. */
const ROWS = 1001
/** Limits at and above those that databases and drivers like to apply by themselves. */
const LIMITS = [501, 1000]
/** Calls at the same time, so that stores over a network take less time. */
const AT_ONCE = 250

/** Runs the calls in groups that run at the same time. */
async function inGroups<T>(calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = []
  for (let start = 0; start < calls.length; start += AT_ONCE)
    results.push(...(await allOf(calls.slice(start, start + AT_ONCE).map((call) => call()))))
  return results
}

/** Reserves keys that sort as their numbers, with bytes in the bucket under the same names. */
function reserveMany(given: Given): Promise<StorageObject[]> {
  return inGroups(
    numbers(ROWS).map((number) => () => {
      const name = `key ${number + 10_000}`
      return given.reserve({ id: given.newId(), key: name, storageKey: name, declaredSize: 1 })
    }),
  )
}

/** Reads pages until one is not full, and compares their sizes and what they hold. */
async function samePages<Item>(
  what: string,
  list: (limit: number, last: Item | undefined) => Promise<Item[]>,
  idOf: (item: Item) => string,
  expected: readonly string[],
): Promise<void> {
  for (const limit of LIMITS) {
    const first = await list(limit, undefined)
    same(first.length, Math.min(limit, expected.length), `items of ${what} with a limit of ${limit}`)
    const rest = await list(1000, first.at(-1))
    same([...first, ...rest].map(idOf), expected, `${what}, ${limit} and the rest`)
  }
}

export const longListCases: CaseGroup = {
  title: 'long lists',
  cases: {
    'return as many rows and leftovers as they are asked for': async (given) => {
      const { store, scope, clock } = given
      const rows = await reserveMany(given)
      const ids = idsOf(rows)
      for (const limit of LIMITS) {
        const page = await store.listByScope({ scope, limit })
        same(page.objects.length, limit, `rows of listByScope with a limit of ${limit}`)
        const rest = await store.listByScope({ scope, cursor: page.nextCursor, limit: 1000 })
        same(idsOf([...page.objects, ...rest.objects]), ids.toReversed(), 'ids of listByScope')
        same(rest.nextCursor, undefined, 'the cursor of the last page')
      }
      clock.advance(2 * HOUR)
      const expired = (limit: number, after?: StorageObject) => store.listExpired({ limit, after })
      await samePages('listExpired', expired, ({ id }) => id, ids)
      const purged = [await store.purgeExpired({ limit: 501 }), await store.purgeExpired({ limit: 1000 })]
      same(purged.map(idsOf), [ids.slice(0, 501), ids.slice(501)], 'ids of two purges')
      await samePages<Leftover>(
        'listLeftovers',
        (limit, after) => store.listLeftovers({ limit, after }),
        ({ attemptId }) => attemptId,
        ids,
      )
      const dueBefore = clock.now()
      await samePages<Leftover>(
        'listLeftovers with dueBefore',
        (limit, after) => store.listLeftovers({ limit, after, dueBefore }),
        ({ attemptId }) => attemptId,
        ids,
      )
    },

    'return and purge as much history as they are asked for': async (given) => {
      const { store, scope, clock } = given
      const rows = await reserveMany(given)
      const remove =
        ({ bucket, key, id }: StorageObject) =>
        async () => {
          await store.confirm({ bucket, key, id, size: 1 })
          await store.remove({ bucket, key })
        }
      await inGroups(rows.map(remove))
      const page = await store.listByScope({ scope, status: 'deleted', limit: 1000 })
      same(idsOf(page.objects), idsOf(rows).toReversed().slice(0, 1000), 'ids of the history')
      same(await store.purgeDeleted({ before: clock.now(), limit: 501 }), 501, 'rows of the first purge')
      same(await store.purgeDeleted({ before: clock.now(), limit: 1000 }), 500, 'rows of the second purge')
    },
  },
}

export const longNameListCases: CaseGroup = {
  title: 'long lists of scopes, names and events',
  events: true,
  cases: {
    'return, claim and settle as many as they are asked for': async (given) => {
      const { store } = given
      const names = numbers(ROWS).map((number) => `name ${number + 10_000}`)
      await inGroups(names.map((name) => () => given.adopt({ scope: name, key: name, storageKey: name })))
      await samePages<ScopeSummary>(
        'listScopes',
        (limit, last) => store.listScopes({ limit, after: last?.scope }),
        ({ scope }) => scope,
        names,
      )
      const { bucket } = given.at
      await samePages<StoredItem>(
        'listStored',
        (limit, last) => store.listStored({ bucket, limit, after: last?.storageKey }),
        ({ storageKey }) => storageKey,
        names,
      )
      for (const limit of LIMITS) {
        const { items, next } = await store.listEvents({ limit })
        same(items.length, limit, `items of listEvents with a limit of ${limit}`)
        const rest = await store.listEvents({ limit: 1000, after: next })
        const listed = [...items, ...rest.items].map(({ object: { key } }) => key)
        same(listed.sort(), names, `the keys of listEvents, ${limit} and the rest`)
      }
      const claims = [await store.claimEvents({ limit: 501 }), await store.claimEvents({ limit: 1000 })]
      same(
        claims.map(({ length }) => length),
        [501, 500],
        'claimed events',
      )
      const entries = claims.flat().map(({ id, claim }) => ({ id, claim }))
      same((await store.extendClaims(entries.slice(0, 1000))).length, 1000, 'extended claims')
      same((await store.settleEvents(entries.slice(0, 1000))).length, 1000, 'settled events')
      same(await store.countEvents(), { waiting: 0, claimed: 1, retrying: 0 })
    },
  },
}
