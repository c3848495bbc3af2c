import { postgresAdapter } from './adapter.mjs'
import { bytesByHand, createTableByHand, reserveByHand } from './by-hand.mjs'
import { compareWaiting } from './compare-waiting.mjs'
import { reserve } from './writes.mjs'

const SIZE = 1000
/** Files that fit into each scope. Few, so that summing them up costs nothing beside the way to the server. */
const ROOM = 20
const maxBytes = ROOM * SIZE
const RACES = 20
const ROUNDS = 61

/** `reserve` beside the sequence by hand, both on the far side of a slow network. */
export async function compareWithHand(pool, callers) {
  await createTableByHand(pool)
  const store = postgresAdapter(pool)
  const results = []
  for (const atOnce of [1, callers]) {
    // Scopes are left before they are full: a refusal is shorter, for both.
    const names = { base: scopesWithRoom('hand', atOnce), subject: scopesWithRoom('store', atOnce) }
    results.push(
      await compareWaiting({
        name: atOnce === 1 ? '1 caller' : `${atOnce} callers of one scope`,
        base: () => reserveByHand(pool, { scope: names.base(), size: SIZE, maxBytes: maxBytes * callers }),
        subject: () => reserve(store, names.subject(), { maxBytes: maxBytes * callers }),
        // Many at once are no fair race: by hand nothing keeps callers of a scope apart, hence the overshoot.
        bar: { least: atOnce === 1 ? 3 : null },
        callers: atOnce,
        rounds: ROUNDS,
      }),
    )
  }
  return { results, overshoot: await raceForRoom(pool, store, callers) }
}

function scopesWithRoom(prefix, atOnce) {
  let calls = 0
  const perScope = ROOM * Math.max(1, atOnce / 2)
  return () => `user:${prefix}-${atOnce}-${Math.floor(calls++ / perScope)}`
}

/** Many callers, each with one file, and room for some of them: how many bytes are taken beyond the quota. */
async function raceForRoom(pool, store, callers) {
  const worst = { byHand: 0, store: 0 }
  let exceeded = { byHand: 0, store: 0 }
  for (let race = 0; race < RACES; race++) {
    const scope = `user:race-${race}`
    const each = (call) => Promise.all(Array.from({ length: callers }, call))
    await each(() => reserveByHand(pool, { scope, size: SIZE, maxBytes }))
    await each(() => reserve(store, scope, { maxBytes }).catch(unlessRefused))
    const { bytes, reservedBytes } = await store.getScopeUsage(scope)
    const over = {
      byHand: (await bytesByHand(pool, scope)) - maxBytes,
      store: bytes + reservedBytes - maxBytes,
    }
    for (const side of ['byHand', 'store']) {
      worst[side] = Math.max(worst[side], over[side])
      if (over[side] > 0) exceeded[side]++
    }
  }
  return { races: RACES, callers, maxBytes, worst, exceeded }
}

function unlessRefused(error) {
  if (error.code !== 'QUOTA_EXCEEDED') throw error
}
