import { cursorBehind } from '../cursor-behind.mjs'
import { compareWaiting } from './compare-waiting.mjs'
import { large, small } from './scopes.mjs'

export const PAGE = 100
export const PAGE_ROUNDS = 401
const COUNTER_ROUNDS = 601

/** Usage and counts beside a read of that very record of counters by the bare driver. */
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

/** The same calls for a scope of many rows and for one of few. */
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

/** A page deep in a list beside its first page. */
export async function compareDepths(store, deepPage) {
  const results = []
  for (const [name, filter] of Object.entries({
    active: { status: 'active' },
    'pending and active': {},
    'active of a common route': { status: 'active', route: 'common' },
  })) {
    const query = { ...filter, scope: large }
    const cursor = await cursorBehind(store, query, (deepPage - 1) * PAGE)
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
  if (page.objects.length !== PAGE || !page.nextCursor) throw new Error('A page to be measured is not full.')
  return page
}
