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

async function round({ store, add }) {
  const { result: claimed, microseconds: claim } = await timed(() => store.claimEvents({ limit: CLAIMED }))
  const { result: settled, microseconds: settle } = await timed(() => store.settleEvents(claimed))
  if (settled.length !== CLAIMED) throw new Error(`Settled ${settled.length} events of ${CLAIMED}.`)
  await add(CLAIMED)
  return { claim, settle }
}
