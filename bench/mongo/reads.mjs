import { compareWaiting } from '../servers/compare-waiting.mjs'
import { large, rareRoute } from '../servers/scopes.mjs'
import { compareCounterReads, expectFull, PAGE, PAGE_ROUNDS } from '../servers/store-reads.mjs'

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Compares the adapter's usage and counts with a read of the same document by the bare driver. */
export function compareCounters(db, store) {
  const objects = db.collection('svc_db_objects')
  return compareCounterReads(store, (scope) => objects.findOne({ _id: scope }))
}

/**
 * Compares pages of the adapter with a `find` for the same documents. Like the adapter, it reads one more than the
 * page.
 */
export async function comparePages(db, store) {
  const objects = db.collection('svc_db_objects')
  const active = (more = {}) => findOf('active', more)
  const results = []
  for (const { name, filter, find, most } of [
    { name: 'active', filter: { status: 'active' }, find: active(), most: 1.3 },
    {
      name: 'active of a rare route',
      filter: { status: 'active', route: rareRoute.name },
      find: active({ 'active.route': rareRoute.name }),
      most: 1.3,
    },
    // The adapter reads two statuses at one point in time, which a bare find can't do. Compared with a find for one
    // status.
    { name: 'pending and active, compared with active', filter: {}, find: active(), most: 1.6 },
  ]) {
    const query = { ...filter, scope: large, limit: PAGE }
    const { objects: page } = await expectFull(store, query)
    const documents = await find()
    const isSame = page.every(({ id }, index) => id === documents[index].active.id)
    if (documents.length !== PAGE + 1 || (filter.status && !isSame)) {
      throw new Error('The two sides of a page read different documents.')
    }
    results.push(
      await compareWaiting({
        name,
        base: find,
        subject: () => store.listByScope(query),
        bar: { most },
        rounds: PAGE_ROUNDS,
      }),
    )
  }
  return results

  function findOf(status, more) {
    const index = 'active.route' in more ? 'active_by_route' : 'active_by_id'
    return () =>
      objects
        .find({ scope: large, ...more, [`${status}.id`]: { $lt: LAST_ID } }, { batchSize: PAGE + 2 })
        .sort({ [`${status}.id`]: -1 })
        .limit(PAGE + 1)
        .hint(index)
        .toArray()
  }
}
