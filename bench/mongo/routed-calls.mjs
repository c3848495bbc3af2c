import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket, large } from '../servers/scopes.mjs'
import { expectFull, PAGE } from '../servers/store-reads.mjs'
import { reserve, upload } from '../servers/store-calls.mjs'

const ROUNDS = 201
/** A read of sharded collections can wait for the journal, which takes 100 ms. */
const ROUNDS_OF_WAITING = 31

/**
 * Compares reads of two stores. Unsharded, no read may wait for the time of the cluster, so bars apply to the calls of
 * requests.
 */
export async function compareRoutedReads({ base, subject }, isUnsharded) {
  const found = new Map()
  for (const store of [base, subject]) {
    const page = await expectFull(store, { scope: large, status: 'active', limit: PAGE })
    await expectFull(store, { scope: large, limit: PAGE })
    found.set(store, page.objects[PAGE / 2])
  }
  const at = (store) => ({ bucket, key: found.get(store).key })
  const calls = [
    // One bare find each, so their ratio is that of mongos itself.
    { name: 'getScopeUsage', call: (store) => store.getScopeUsage(large) },
    { name: 'findActive', call: (store) => store.findActive(at(store)) },
    { name: 'find', call: (store) => store.find(at(store)), most: 2.5 },
    { name: 'findById', call: (store) => store.findById({ id: found.get(store).id }), most: 2.5 },
    { name: 'find of nothing', call: (store) => store.find({ bucket, key: 'none' }), waits: true },
    {
      name: 'a page of 100 active objects',
      call: (store) => store.listByScope({ scope: large, status: 'active', limit: PAGE }),
      most: 2.5,
      waits: true,
    },
    {
      name: 'a page of 100 without a status',
      call: (store) => store.listByScope({ scope: large, limit: PAGE }),
      most: 2.5,
      waits: true,
    },
    { name: 'listExpired of nothing', call: (store) => store.listExpired(), waits: true },
  ]
  const results = []
  for (const { name, call, most = null, waits = false } of calls) {
    results.push(
      await compareWaiting({
        name,
        base: () => call(base),
        subject: () => call(subject),
        bar: { most: isUnsharded ? most : null },
        rounds: waits && !isUnsharded ? ROUNDS_OF_WAITING : ROUNDS,
      }),
    )
  }
  return results
}

/** Compares uploads of two stores, each caller in its own scope or all in one, and other writes of one caller. */
export async function compareRoutedUploads({ base, subject }) {
  const results = []
  const ofCallers = (callers) => (callers === 1 ? '1 caller' : `${callers} callers`)
  for (const { callers, scopes, rounds } of [
    { callers: 1, scopes: 'own', rounds: 101 },
    { callers: 8, scopes: 'own', rounds: 41 },
    { callers: 32, scopes: 'own', rounds: 21 },
    { callers: 32, scopes: 'one', rounds: 31 },
  ]) {
    const scopeOf = (caller) => (scopes === 'one' ? 'user:hot' : `user:caller-${caller}`)
    results.push(
      await compareWaiting({
        name: `${ofCallers(callers)}, ${scopes === 'one' ? 'one scope' : 'a scope each'}`,
        base: (caller) => upload(base, scopeOf(caller)),
        subject: (caller) => upload(subject, scopeOf(caller)),
        bar: { least: null },
        callers,
        rounds,
      }),
    )
  }
  const released = async (store) => {
    const { key, id } = await reserve(store, 'user:release', undefined)
    await store.release({ bucket, key, id, scope: 'user:release' })
  }
  results.push(
    await compareWaiting({
      name: '1 caller, reserve + release',
      base: () => released(base),
      subject: () => released(subject),
      bar: { least: null },
      rounds: 101,
    }),
  )
  return results
}
