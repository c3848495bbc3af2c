import type { ObjectPage, StorageObject } from '../../../src/core/store/records.js'
import type { ListByScopeInput, StorageObjectStore } from '../../../src/core/store/contract.js'
import { holds, same, sameFields } from '../assertions.js'
import { HOUR } from '../clock.js'
import type { CaseGroup } from '../given.js'
import { allOf, idsOf, numbers } from '../given.js'

/** Returns all pages of a list, at most 100 in case the cursors never end. */
export async function pagesOf(
  store: StorageObjectStore,
  input: ListByScopeInput,
): Promise<StorageObject[][]> {
  const pages: StorageObject[][] = []
  let page: ObjectPage = { objects: [] }
  do {
    page = await store.listByScope({ ...input, cursor: page.nextCursor })
    pages.push(page.objects)
  } while (page.nextCursor !== undefined && pages.length < 100)
  return pages
}

export const listCases: CaseGroup = {
  title: 'listByScope',
  cases: {
    'returns an empty page without a cursor for an unknown scope': async ({ store }) => {
      same(await store.listByScope({ scope: 'unknown' }), { objects: [] })
    },

    'returns only rows of the scope': async (given) => {
      const { store, scope, otherScope } = given
      const own = await given.activate({ key: 'a' })
      const others = await given.activate({ key: 'b', scope: otherScope })
      await given.activate({ key: 'c', scope: 'alice2' })
      await given.activate({ key: 'd', scope: 'Alice' })
      same(await store.listByScope({ scope }), { objects: [own] })
      same(await store.listByScope({ scope: otherScope }), { objects: [others] })
    },

    'returns pending and active rows of all buckets by default': async (given) => {
      const { store, scope } = given
      await given.history({ key: 'a' })
      const active = await given.activate({ key: 'b' })
      const pending = await given.reserve({ key: 'c' })
      const elsewhere = await given.activate({ bucket: 'other bucket', key: 'd' })
      same(await store.listByScope({ scope }), { objects: [elsewhere, pending, active] })
      same(await store.listByScope({ scope, status: null }), { objects: [elsewhere, pending, active] })
    },

    'filters by status': async (given) => {
      const { store, scope } = given
      const deleted = await given.history({ key: 'a' })
      const active = await given.activate({ key: 'b' })
      const pending = await given.reserve({ key: 'c' })
      same(await store.listByScope({ scope, status: 'deleted' }), { objects: [deleted] })
      same(await store.listByScope({ scope, status: 'active' }), { objects: [active] })
      same(await store.listByScope({ scope, status: 'pending' }), { objects: [pending] })
    },

    'includes expired reservations in the pending rows': async (given) => {
      const { store, clock, scope } = given
      const pending = await given.reserve()
      clock.advance(2 * HOUR)
      same(await store.listByScope({ scope, status: 'pending' }), { objects: [pending] })
    },

    'filters by the exact name of a route': async (given) => {
      const { store, scope } = given
      const wanted = await given.activate({ key: 'a', route: 'avatars' })
      await given.activate({ key: 'b', route: 'avatars2' })
      await given.activate({ key: 'c', route: 'Avatars' })
      await given.activate({ key: 'd' })
      await given.activate({ key: 'e', route: 'avatars', scope: given.otherScope })
      const pending = await given.reserve({ key: 'f', route: 'avatars' })
      same(await store.listByScope({ scope, route: 'avatars' }), { objects: [pending, wanted] })
      same(await store.listByScope({ scope, route: 'avatars', status: 'active' }), { objects: [wanted] })
      same(await store.listByScope({ scope, route: 'nothing' }), { objects: [] })
      same((await store.listByScope({ scope, route: null })).objects.length, 5, 'rows of any route')
    },

    'moves an object to the route of its replacement': async (given) => {
      const { store, scope } = given
      await given.activate({ route: 'first' })
      await given.reserve({ route: 'second' })
      same(
        (await store.listByScope({ scope, route: 'first' })).objects.length,
        1,
        'rows of the first route before the confirm',
      )
      const active = await given.confirm()
      same(await store.listByScope({ scope, route: 'second' }), { objects: [active] })
      same(await store.listByScope({ scope, route: 'first' }), { objects: [] })
    },

    'returns the newest rows first, for every status': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach(numbers(6).map(() => ({})))
      const newestFirst = idsOf(rows).reverse()
      same(
        idsOf((await store.listByScope({ scope, status: 'pending' })).objects),
        newestFirst,
        'pending rows',
      )
      // Confirmed and removed in a different order than created.
      for (const index of [3, 0, 5, 1, 4, 2]) await given.confirm({ key: `key ${index}` })
      same(idsOf((await store.listByScope({ scope, status: 'active' })).objects), newestFirst, 'active rows')
      for (const index of [2, 4, 0, 1, 3, 5]) await store.remove({ bucket: 'bucket', key: `key ${index}` })
      same(
        idsOf((await store.listByScope({ scope, status: 'deleted' })).objects),
        newestFirst,
        'deleted rows',
      )
    },

    'merges pending and active rows in order of creation': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach(numbers(7).map(() => ({})))
      for (const index of [1, 2, 5]) await given.confirm({ key: `key ${index}` })
      const newestFirst = idsOf(rows).reverse()
      same(idsOf((await store.listByScope({ scope })).objects), newestFirst, 'ids')
      same(idsOf((await pagesOf(store, { scope, limit: 2 })).flat()), newestFirst, 'ids page by page')
    },

    'returns every acknowledged write from the primary': async (given) => {
      const { store, scope } = given
      const fromPrimary = async (status?: 'pending' | 'active' | 'deleted') =>
        (await pagesOf(store, { scope, status, limit: 2, fromPrimary: true })).flat()
      const rows = []
      for (const key of ['a', 'b', 'c']) {
        rows.unshift(await given.reserve({ key }))
        same(await fromPrimary(), rows, `the rows after the reserve of ${key}`)
      }
      const active = await given.confirm({ key: 'b' })
      same(await fromPrimary('active'), [active], 'active rows')
      same(await fromPrimary('pending'), [rows[0], rows[2]], 'pending rows')
      const deleted = await store.remove({ bucket: 'bucket', key: 'b' })
      same(await fromPrimary('deleted'), [deleted], 'deleted rows')
      same(await fromPrimary(), [rows[0], rows[2]], 'rows that are not deleted')
    },

    'returns rows without metadata if asked to, with a cursor that works either way': async (given) => {
      const { store, scope } = given
      const rows = []
      for (const key of ['a', 'b', 'c']) rows.unshift(await given.activate({ key, metadata: { key } }))
      const bare = rows.map((row) => ({ ...row, metadata: null }))
      const page = await store.listByScope({ scope, withMetadata: false, limit: 2 })
      same(page.objects, bare.slice(0, 2), 'the first page')
      const cursor = page.nextCursor
      same((await store.listByScope({ scope, cursor })).objects, rows.slice(2), 'the page with metadata')
      const rest = await store.listByScope({ scope, cursor, withMetadata: false })
      same(rest.objects, bare.slice(2), 'the page without metadata')
      same(await store.find(rows[0]!), rows[0], 'the row itself')
      await given.reserve({ key: 'pending', metadata: { key: 'pending' } })
      await given.history({ key: 'deleted', metadata: { key: 'deleted' }, route: 'route' })
      for (const status of ['pending', 'active', 'deleted'] as const) {
        for (const route of [null, ...(status === 'deleted' ? ['route'] : [])]) {
          const { objects } = await store.listByScope({ scope, status, route, withMetadata: false })
          holds(objects.length > 0, `no ${status} rows`)
          for (const { metadata } of objects) same(metadata, null, `the metadata of a ${status} row`)
        }
      }
    },

    'returns 100 rows by default': async (given) => {
      const { store, scope } = given
      await allOf(numbers(101).map((index) => given.reserve({ key: `key ${index}` })))
      const { objects, nextCursor } = await store.listByScope({ scope })
      same(objects.length, 100, 'rows of the first page')
      holds(nextCursor !== undefined, 'the first of two pages has no cursor')
      const rest = await store.listByScope({ scope, cursor: nextCursor })
      same(rest.objects.length, 1, 'rows of the second page')
      holds(!('nextCursor' in rest), 'the last page has a cursor')
    },

    'accepts limits from 1 to 1000': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach([{}, {}])
      same(
        idsOf((await store.listByScope({ scope, limit: 1 })).objects),
        [rows[1]!.id],
        'ids with a limit of 1',
      )
      same((await store.listByScope({ scope, limit: 1000 })).objects.length, 2, 'rows with a limit of 1000')
    },

    'pages through every row exactly once, with a cursor only if there is another page': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach(numbers(6).map(() => ({})))
      for (const limit of [1, 2, 3, 4, 5, 6, 7]) {
        const pages = await pagesOf(store, { scope, limit })
        same(idsOf(pages.flat()), idsOf(rows).reverse(), `ids, ${limit} a page`)
        same(pages.length, Math.ceil(rows.length / limit), `number of pages, ${limit} a page`)
      }
    },

    'pages through every row exactly once with every filter': async (given) => {
      const { store, scope } = given
      for (const index of numbers(8)) {
        await given.reserve({ key: `key ${index}`, route: index % 2 === 0 ? 'even' : 'odd' })
        if (index % 3 > 0) await given.confirm({ key: `key ${index}` })
      }
      for (const route of ['even', 'odd', undefined]) {
        for (const status of ['pending', 'active', undefined] as const) {
          const whole = await store.listByScope({ scope, route, status })
          const pages = await pagesOf(store, { scope, route, status, limit: 1 })
          same(pages.flat(), whole.objects, `rows of route ${route} and status ${status}`)
        }
      }
    },

    'returns rows that exist throughout exactly once, even if others change between pages': async (given) => {
      const { store, scope } = given
      const rows = await given.reserveEach(numbers(6).map(() => ({})))
      const first = await store.listByScope({ scope, limit: 2 })
      await given.reserve({ key: 'new one' })
      await store.release({ bucket: 'bucket', key: 'key 4' }) // the row of the cursor
      await store.release({ bucket: 'bucket', key: 'key 3' }) // the row after it
      const second = await store.listByScope({ scope, limit: 2, cursor: first.nextCursor })
      await given.reserve({ key: 'another new one' })
      const third = await store.listByScope({ scope, limit: 2, cursor: second.nextCursor })
      const shown = idsOf([...first.objects, ...second.objects, ...third.objects])
      same(
        shown,
        [5, 4, 2, 1, 0].map((index) => rows[index]!.id),
        'ids of the three pages',
      )
    },

    'returns an object that is replaced between pages exactly once': async (given) => {
      const { store, scope } = given
      const rows = await allOf(numbers(6).map((index) => given.activate({ key: `key ${index}` })))
      const ids = idsOf(rows).sort().reverse()
      const shown: string[] = []
      let cursor: string | undefined
      do {
        const page = await store.listByScope({ scope, status: 'active', limit: 2, cursor })
        shown.push(...idsOf(page.objects))
        for (const index of numbers(6))
          await given.activate({ key: `key ${index}`, declaredSize: shown.length })
        cursor = page.nextCursor
      } while (cursor !== undefined && shown.length < 20)
      same(shown, ids, 'ids of all pages')
    },

    'returns both rows of a replacement in progress': async (given) => {
      const { store, scope } = given
      const active = await given.activate()
      const pending = await given.reserve()
      same(await store.listByScope({ scope }), { objects: [pending, active] })
      same(await store.listByScope({ scope, status: 'active' }), { objects: [active] })
      same(await store.listByScope({ scope, status: 'pending' }), { objects: [pending] })
    },

    "doesn't return a row under its previous status after a change": async (given) => {
      const { store, scope, at } = given
      const { id } = await given.activate()
      const second = await given.activate()
      same((await store.listByScope({ scope, status: 'active' })).objects, [second], 'active rows')
      same((await store.listByScope({ scope, status: 'pending' })).objects, [], 'pending rows')
      const deleted = await store.remove(at)
      sameFields(deleted, { id })
      same((await store.listByScope({ scope, status: 'active' })).objects, [], 'active rows after the remove')
      same((await store.listByScope({ scope, status: 'deleted' })).objects, [deleted], 'the history')
    },
  },
}

export const countCases: CaseGroup = {
  title: 'countByScope',
  cases: {
    'is 0 for an unknown scope': async ({ store }) => {
      for (const status of [undefined, 'pending', 'active', 'deleted'] as const) {
        same(await store.countByScope('unknown', status), 0, `rows of status ${status}`)
      }
    },

    'counts pending and active rows by default, and the rows of one status': async (given) => {
      const { store, scope } = given
      for (const key of ['a', 'b', 'c']) await given.history({ key })
      for (const key of ['d', 'e']) await given.activate({ key })
      await given.reserve({ key: 'f' })
      await given.activate({ key: 'g', scope: given.otherScope })
      same(await store.countByScope(scope), 3, 'rows by default')
      same(await store.countByScope(scope, null), 3, 'rows of status null')
      same(await store.countByScope(scope, 'pending'), 1, 'pending rows')
      same(await store.countByScope(scope, 'active'), 2, 'active rows')
      same(await store.countByScope(scope, 'deleted'), 3, 'deleted rows')
    },

    'counts a replacement in progress as two rows, and as one after its confirm': async (given) => {
      const { store, scope } = given
      await given.activate()
      await given.reserve()
      same(await store.countByScope(scope), 2, 'rows while the replacement is pending')
      await given.confirm()
      same(await store.countByScope(scope), 1, 'rows after its confirm')
      same(await store.countByScope(scope, 'pending'), 0, 'pending rows after its confirm')
      same(await store.countByScope(scope, 'deleted'), 0, 'rows of history after its confirm')
    },

    'reflects every way of adding and removing rows': async (given) => {
      const { store, clock, scope, otherScope, at } = given
      const counts = async (of = scope) => [
        await store.countByScope(of, 'pending'),
        await store.countByScope(of, 'active'),
        await store.countByScope(of, 'deleted'),
      ]
      await given.reserve()
      await given.reserve()
      same(await counts(), [1, 0, 0], 'counts after a second reserve')
      await store.release(at)
      same(await counts(), [0, 0, 0], 'counts after release')
      await given.activate()
      await store.remove(at)
      same(await counts(), [0, 0, 1], 'counts after a soft remove')
      await given.activate()
      await store.remove({ ...at, mode: 'hard' })
      same(await counts(), [0, 0, 1], 'counts after a hard remove')
      await given.reserve()
      clock.advance(2 * HOUR)
      await given.reserve({ scope: otherScope })
      same(await counts(), [0, 0, 1], 'counts after another scope took the key')
      same(await counts(otherScope), [1, 0, 0], 'counts of the other scope')
      clock.advance(2 * HOUR)
      await store.purgeExpired()
      same(await counts(otherScope), [0, 0, 0], 'counts of the other scope after purgeExpired')
      await store.purgeDeleted({ before: clock.now() })
      same(await counts(), [0, 0, 0], 'counts after purgeDeleted')
    },
  },
}
