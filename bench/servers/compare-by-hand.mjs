import { compareWaiting } from './compare-waiting.mjs'
import { withSeparators } from './options.mjs'
import { reserve, SIZE } from './store-calls.mjs'

/** Files that fit into each scope. Few enough that summing them up costs nothing compared with a round trip. */
const FILES_PER_SCOPE = 20
const maxBytes = FILES_PER_SCOPE * SIZE
const RACES = 20
const ROUNDS = 61

/**
 * Compares `reserve` of a store with the sequence by hand. `byHand` has `reserve({ scope, size, maxBytes })`, which
 * resolves to `false` if the quota is full, and `bytes(scope)`.
 */
export async function compareByHand({ store, byHand, callers, leastAlone }) {
  const results = []
  for (const concurrency of [1, callers]) {
    // Changes the scope before it is full, because a refusal takes less time on both sides.
    const names = {
      base: scopesBelowQuota('hand', concurrency),
      subject: scopesBelowQuota('store', concurrency),
    }
    results.push(
      await compareWaiting({
        name: concurrency === 1 ? '1 caller' : `${concurrency} callers of one scope`,
        base: () => byHand.reserve({ scope: names.base(), size: SIZE, maxBytes: maxBytes * callers }),
        subject: () => reserve(store, names.subject(), { maxBytes: maxBytes * callers }),
        // No bar for many callers: by hand nothing serializes them, which saves time and exceeds the quota.
        bar: { least: concurrency === 1 ? leastAlone : null },
        callers: concurrency,
        rounds: ROUNDS,
      }),
    )
  }
  return { results, overshoot: await raceForQuota(store, byHand, callers) }
}

function scopesBelowQuota(prefix, concurrency) {
  let calls = 0
  const perScope = FILES_PER_SCOPE * Math.max(1, concurrency / 2)
  return () => `user:${prefix}-${concurrency}-${Math.floor(calls++ / perScope)}`
}

/**
 * Lets many callers reserve one file each, where the quota has space for some. Returns how far each side exceeds it.
 */
async function raceForQuota(store, byHand, callers) {
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
  return `${races} races of ${callers} callers for the last ${withSeparators(maxBytes)} bytes: the sequence by hand exceeded the quota in ${exceeded.byHand}
of them, by up to ${withSeparators(worst.byHand)} bytes. The adapter exceeded it in ${exceeded.store}, by up to ${withSeparators(worst.store)} bytes.
`
}

function unlessRefused(error) {
  if (error.code !== 'QUOTA_EXCEEDED') throw error
}
