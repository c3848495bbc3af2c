import { cursorAfter } from '../deep-cursor.mjs'
import { compareWaiting } from './compare-waiting.mjs'
import { large, small } from './scopes.mjs'

export const PAGE = 100
export const PAGE_ROUNDS = 401
const COUNTER_ROUNDS = 601

/** Compares usage and counts with a read of the same counters by the bare driver. */
export async function compareCounterReads(store, readCounters) {
  const results = []
  const calls = {
    getScopeUsage: (scope) => store.getScopeUsage(scope),
    countByScope: (scope) => store.countByScope(scope),
  }
  for (const [name, call] of Object.entries(calls)) {
    for (const [size, scope] of [
      ['small', small.scope],
      ['large', large],
    ]) {
      results.push(
        await compareWaiting({
          name: `${name}, ${size} scope`,
          base: () => readCounters(scope),
          subject: () => call(scope),
          bar: { most: 1.3 },
          rounds: COUNTER_ROUNDS,
        }),
      )
    }
  }
  return results
}

/** Compares the same calls for a large scope and a small one. */
export async function compareScopeSizes(store) {
  const results = []
  for (const [name, call] of Object.entries({
    getScopeUsage: (scope) => store.getScopeUsage(scope),
    countByScope: (scope) => store.countByScope(scope),
    'page of 100, active': (scope) => store.listByScope({ scope, status: 'active', limit: PAGE }),
  })) {
    results.push(
      await compareWaiting({
        name,
        base: () => call(small.scope),
        subject: () => call(large),
        bar: { most: 1.2 },
        rounds: name.startsWith('page') ? PAGE_ROUNDS : COUNTER_ROUNDS,
      }),
    )
  }
  return results
}

/** Compares a page deep in a listing with the first page. */
export async function compareDepths(store, deepPage) {
  const results = []
  for (const [name, filter] of Object.entries({
    active: { status: 'active' },
    'pending and active': {},
    'active of a common route': { status: 'active', route: 'common' },
  })) {
    const query = { ...filter, scope: large }
    const cursor = await cursorAfter(store, query, (deepPage - 1) * PAGE)
    const first = { ...query, limit: PAGE }
    const deep = { ...first, cursor }
    await expectFull(store, first)
    await expectFull(store, deep)
    results.push(
      await compareWaiting({
        name,
        base: () => store.listByScope(first),
        subject: () => store.listByScope(deep),
        bar: { most: 1.2 },
        rounds: PAGE_ROUNDS,
      }),
    )
  }
  return results
}

export async function expectFull(store, query) {
  const page = await store.listByScope(query)
  if (page.objects.length !== PAGE || !page.nextCursor) throw new Error('A measured page is not full.')
  return page
}
