import { compare } from './compare.mjs'
import { cursorBehind } from './cursor-behind.mjs'
import { bucket, rareRoute, scope, storeWithRows } from './tracked-scopes.mjs'

const PAGE = 100
const FEW = 1000
/** A deep page ends this many rows before the last one, so it is full and another follows it, as with the first page. */
const FROM_THE_END = 150

/** The memory adapter with many rows beside the same with few: what is said to be constant must have a ratio near 1. */
export async function compareRowCounts(many) {
  const start = process.cpuUsage()
  const large = storeWithRows(many)
  const { user, system } = process.cpuUsage(start)
  const sides = { base: storeWithRows(FEW), subject: large }
  const heapMegabytes = process.memoryUsage().heapUsed / 2 ** 20

  const results = []
  for (const [label, filter] of Object.entries({
    'pending and active': {},
    'active only': { status: 'active' },
    'a rare route': { route: rareRoute.name, status: 'active' },
  })) {
    for (const place of ['first', 'deep']) {
      results.push(
        await compare({
          name: `page of ${PAGE}, ${label}, ${place} page`,
          bar: { most: 1.3 },
          ...(await forBoth(sides, (store) => pages(store, filter, place))),
        }),
      )
    }
  }
  results.push(
    await compare({ name: 'getScopeUsage', bar: { most: 1.3 }, ...(await forBoth(sides, usageCalls)) }),
    await compare({ name: 'countByScope', bar: { most: 1.3 }, ...(await forBoth(sides, countCalls)) }),
    await compare({ name: 'reserve + confirm', bar: { most: 1.5 }, ...(await forBoth(sides, uploads)) }),
  )
  return { base: FEW, subject: many, seedingSeconds: (user + system) / 1e6, heapMegabytes, results }
}

async function forBoth(sides, sideOf) {
  return { base: await sideOf(sides.base), subject: await sideOf(sides.subject) }
}

async function pages(store, filter, place) {
  const rows = filter.route ? rareRoute.rows : await store.countByScope(scope, filter.status)
  const cursor =
    place === 'first' ? null : await cursorBehind(store, { ...filter, scope }, rows - FROM_THE_END)
  const query = { ...filter, scope, cursor, limit: PAGE }
  const { objects, nextCursor } = await store.listByScope(query)
  if (objects.length !== PAGE || !nextCursor) throw new Error('A page to be measured is not full.')
  return {
    async run(calls) {
      for (let call = 0; call < calls; call++) await store.listByScope(query)
    },
  }
}

function usageCalls(store) {
  return {
    async run(calls) {
      for (let call = 0; call < calls; call++) await store.getScopeUsage(scope)
    },
  }
}

function countCalls(store) {
  return {
    async run(calls) {
      for (let call = 0; call < calls; call++) await store.countByScope(scope)
    },
  }
}

/** Uploads of new keys, removed again between the rounds so that the scope keeps its size. */
function uploads(store) {
  const quota = { maxBytes: Number.MAX_SAFE_INTEGER }
  const expiresAt = new Date(Date.now() + 24 * 60 * 60 * 1000)
  const keys = []
  let made = 0
  return {
    async run(calls) {
      for (let call = 0; call < calls; call++) {
        const key = `uploads/${made++}`
        keys.push(key)
        const { id } = await store.reserve({ scope, bucket, key, declaredSize: 1000, expiresAt, quota })
        await store.confirm({ bucket, key, id, size: 1000, quota })
      }
    },
    async reset() {
      for (const key of keys.splice(0)) await store.remove({ bucket, key, mode: 'hard' })
    },
  }
}
