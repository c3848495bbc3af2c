import { compareWaiting } from './compare-waiting.mjs'
import { inWords } from './options.mjs'
import { reserve, SIZE } from './store-calls.mjs'

/** Files that fit into each scope. Few, so that summing them up costs nothing beside the way to the server. */
const ROOM = 20
const maxBytes = ROOM * SIZE
const RACES = 20
const ROUNDS = 61

/**
 * `reserve` of a store beside the sequence by hand, which has `reserve({ scope, size, maxBytes })`, resolving to `false`
 * where there is no room, and `bytes(scope)`.
 */
export async function compareWithHand({ store, byHand, callers, leastAlone }) {
  const results = []
  for (const atOnce of [1, callers]) {
    // Scopes are left before they are full: a refusal is shorter, for both.
    const names = { base: scopesWithRoom('hand', atOnce), subject: scopesWithRoom('store', atOnce) }
    results.push(
      await compareWaiting({
        name: atOnce === 1 ? '1 caller' : `${atOnce} callers of one scope`,
        base: () => byHand.reserve({ scope: names.base(), size: SIZE, maxBytes: maxBytes * callers }),
        subject: () => reserve(store, names.subject(), { maxBytes: maxBytes * callers }),
        // Many at once are no fair race: by hand nothing keeps callers of a scope apart, hence the overshoot.
        bar: { least: atOnce === 1 ? leastAlone : null },
        callers: atOnce,
        rounds: ROUNDS,
      }),
    )
  }
  return { results, overshoot: await raceForRoom(store, byHand, callers) }
}

function scopesWithRoom(prefix, atOnce) {
  let calls = 0
  const perScope = ROOM * Math.max(1, atOnce / 2)
  return () => `user:${prefix}-${atOnce}-${Math.floor(calls++ / perScope)}`
}

/** Many callers, each with one file, and room for some of them: how many bytes are taken beyond the quota. */
async function raceForRoom(store, byHand, callers) {
  const worst = { byHand: 0, store: 0 }
  const exceeded = { byHand: 0, store: 0 }
  for (let race = 0; race < RACES; race++) {
    const scope = `user:race-${race}`
    const each = (call) => Promise.all(Array.from({ length: callers }, call))
    await each(() => byHand.reserve({ scope, size: SIZE, maxBytes }))
    await each(() => reserve(store, scope, { maxBytes }).catch(unlessRefused))
    const { bytes, reservedBytes } = await store.getScopeUsage(scope)
    const over = {
      byHand: (await byHand.bytes(scope)) - maxBytes,
      store: bytes + reservedBytes - maxBytes,
    }
    for (const side of ['byHand', 'store']) {
      worst[side] = Math.max(worst[side], over[side])
      if (over[side] > 0) exceeded[side]++
    }
  }
  return { races: RACES, callers, maxBytes, worst, exceeded }
}

export function overshootText({ races, callers, maxBytes, worst, exceeded }) {
  return `${races} races of ${callers} callers for the last ${inWords(maxBytes)} bytes: by hand the quota was exceeded in ${exceeded.byHand},
by ${inWords(worst.byHand)} bytes at worst; by the adapter in ${exceeded.store}, by ${inWords(worst.store)} bytes.
`
}

function unlessRefused(error) {
  if (error.code !== 'QUOTA_EXCEEDED') throw error
}
