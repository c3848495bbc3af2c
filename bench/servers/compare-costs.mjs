import { median, misses } from '../ratios.mjs'

/** Rounds before the measured ones, in which the engine compiles the code and connections prepare their statements. */
const WARM_UP_ROUNDS = 7

/**
 * Compares several costs of two sides in alternating rounds, as `compareWaiting` compares one. A side is an async function
 * that does the work of a round, `perRound` times, and returns its costs by name, in any unit. `bars` has a bar for each of
 * the costs, and `names` their titles.
 */
export async function compareCosts({ base, subject, bars, names, perRound = 1, rounds }) {
  const sides = { base, subject }
  const costs = { base: [], subject: [] }
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const side of round % 2 === 0 ? ['base', 'subject'] : ['subject', 'base']) {
      const cost = await sides[side]()
      if (round >= 0) costs[side].push(cost)
    }
  }
  return Object.entries(bars).map(([each, bar]) => {
    const of = (side) => costs[side].map((cost) => cost[each] / perRound)
    const [left, right] = [of('base'), of('subject')]
    const ratios = left.map((cost, round) => right[round] / cost)
    const ratio = median(ratios)
    return {
      name: names[each],
      bar,
      baseMicroseconds: median(left),
      subjectMicroseconds: median(right),
      ratio,
      lowest: Math.min(...ratios),
      highest: Math.max(...ratios),
      missed: misses(ratio, bar),
    }
  })
}

/** Returns the result of a call, and how many microseconds it took. */
export async function timed(call) {
  const start = performance.now()
  const result = await call()
  return { result, microseconds: (performance.now() - start) * 1000 }
}
