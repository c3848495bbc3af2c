import { compare } from './compare.mjs'
import { cursorAfter } from './deep-cursor.mjs'
import { bucket, rareRoute, scope, storeWithRows } from './tracked-scopes.mjs'

const PAGE = 100
const FEW = 1000
/** A deep page starts this many rows before the end, so like the first page it is full and not the last. */
const FROM_THE_END = 150

const FILTERS = {
  'pending and active': {},
  'active only': { status: 'active' },
  'a rare route': { route: rareRoute.name, status: 'active' },
}

/** Compares the memory adapter with many rows and with few. Calls of constant cost must have a ratio near 1. */
export async function compareRowCounts(many) {
  const start = process.cpuUsage()
  const large = storeWithRows(many)
  const { user, system } = process.cpuUsage(start)
  const sides = { base: storeWithRows(FEW), subject: large }
  const heapMegabytes = process.memoryUsage().heapUsed / 2 ** 20

  const results = []
  const depths = []
  for (const [label, filter] of Object.entries(FILTERS)) {
    depths.push(
      await compare({
        name: `page of ${PAGE}, ${label}`,
        bar: { most: 1.2 },
        base: await pages(large, filter, 'first'),
        subject: await pages(large, filter, 'deep'),
      }),
    )
    for (const position of ['first', 'deep']) {
      results.push(
        await compare({
          name: `page of ${PAGE}, ${label}, ${position} page`,
          bar: { most: 1.3 },
          ...(await forBoth(sides, (store) => pages(store, filter, position))),
        }),
      )
    }
  }
  results.push(
    await compare({ name: 'getScopeUsage', bar: { most: 1.3 }, ...(await forBoth(sides, usageCalls)) }),
    await compare({ name: 'countByScope', bar: { most: 1.3 }, ...(await forBoth(sides, countCalls)) }),
    await compare({ name: 'reserve + confirm', bar: { most: 1.5 }, ...(await forBoth(sides, uploads)) }),
  )
  return { base: FEW, subject: many, seedingSeconds: (user + system) / 1e6, heapMegabytes, results, depths }
}

async function forBoth(sides, sideOf) {
  return { base: await sideOf(sides.base), subject: await sideOf(sides.subject) }
}

async function pages(store, filter, position) {
  const rows = filter.route ? rareRoute.rows : await store.countByScope(scope, filter.status)
  const cursor =
    position === 'first' ? null : await cursorAfter(store, { ...filter, scope }, rows - FROM_THE_END)
  const query = { ...filter, scope, cursor, limit: PAGE }
  const { objects, nextCursor } = await store.listByScope(query)
  if (objects.length !== PAGE || !nextCursor) throw new Error('A measured page is not full.')
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

/** Uploads new keys and removes them between the rounds, so the scope keeps its size. */
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
