import { compareCosts, timed } from './compare-costs.mjs'

const CLAIMED = 100
const ROUNDS = 301

/**
 * Compares claiming and settling 100 events of 100 objects while few events wait and while many do. A side is
 * `{ store, waiting, add }`. Each round adds as many events as it settled, each of another object.
 */
export async function compareWaitingEvents({ few, many }) {
  const results = await compareCosts({
    base: () => round(few),
    subject: () => round(many),
    bars: { claim: { most: 1.3 }, settle: { most: 1.3 } },
    names: { claim: `claimEvents of ${CLAIMED}`, settle: `settleEvents of ${CLAIMED}` },
    rounds: ROUNDS,
  })
  for (const { store, waiting } of [few, many]) {
    const counts = await store.countEvents()
    if (counts.waiting !== waiting || counts.claimed + counts.retrying > 0) {
      throw new Error(`There should be ${waiting} waiting events (got ${JSON.stringify(counts)}).`)
    }
  }
  return results
}

/**
 * Compares claiming 100 events of those that were never claimed, and 100 of those that were, with claiming 100 of any. As
 * many of each wait. A round settles first events and adds as many, and schedules retries again.
 */
export async function compareKindsOfClaims({ store, add, waiting }) {
  await add(waiting)
  for (let left = waiting; left > 0; left -= CLAIMED) {
    await retry(store, await store.claimEvents({ limit: CLAIMED, attempted: false }))
  }
  const claim = (attempted) => async () => {
    const { result: claimed, microseconds } = await timed(() =>
      store.claimEvents({ limit: CLAIMED, attempted }),
    )
    if (claimed.length !== CLAIMED) throw new Error(`Claimed ${claimed.length} events of ${CLAIMED}.`)
    const first = claimed.filter(({ attempts }) => attempts === 1)
    await store.settleEvents(first)
    await retry(
      store,
      claimed.filter(({ attempts }) => attempts > 1),
    )
    if (first.length > 0) await add(first.length)
    return { claim: microseconds }
  }
  const compareKind = (attempted, name) =>
    compareCosts({
      base: claim(undefined),
      subject: claim(attempted),
      bars: { claim: { most: 1.3 } },
      names: { claim: name },
      rounds: ROUNDS,
    })
  return [
    ...(await compareKind(false, `first events, ${CLAIMED} of them`)),
    ...(await compareKind(true, `retries, ${CLAIMED} of them`)),
  ]
}

function retry(store, claimed) {
  const retryAt = new Date()
  return store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim, retryAt })))
}

async function round({ store, add }) {
  const { result: claimed, microseconds: claim } = await timed(() => store.claimEvents({ limit: CLAIMED }))
  const { result: settled, microseconds: settle } = await timed(() => store.settleEvents(claimed))
  if (settled.length !== CLAIMED) throw new Error(`Settled ${settled.length} events of ${CLAIMED}.`)
  await add(CLAIMED)
  return { claim, settle }
}
