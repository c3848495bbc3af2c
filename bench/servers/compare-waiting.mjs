import { median, misses } from '../ratios.mjs'

const WARM_UP_MILLISECONDS = 300
/** Much shorter than what disturbs a shared machine, so that each disturbance meets both sides. */
const ROUND_MILLISECONDS = 3
const MOST_CALLS = 4096
/** Of one caller among many, so that most of a round has all of them at work. */
const CALLS_EACH = 3

export const METHOD = `Method: both sides of a line use the same server and connections, in turn, in short rounds of as many calls as take 3 ms or
more; who begins changes with every round. A time is the median of the rounds, in microseconds from the first call's
start to the last one's end, divided by the calls. The ratio is the median of the ratios of single rounds: how many times
as long the right side takes (bars with <=), or how many times as many calls it makes in the same time (bars with >=).
Lowest and highest of these ratios show the noise.`

/**
 * Runs two sides in turn, many short rounds of each, and compares how long their callers wait. Both use the same server
 * and pool in the same seconds and share whatever disturbs them, so their ratio is steady where their times are not.
 * Each round has its ratio, and the median of these is the result: times on a busy machine jump between two levels, and
 * the medians of two sides that jump together may lie on different ones.
 *
 * A side is an async function of one call; `callers` of them run at once. A bar is `{ most }` for what the subject may
 * cost beside the base, or `{ least }` for how many times as many calls it must make in the same time; `null` in its place
 * only shows the ratio.
 */
export async function compareWaiting({ name, base, subject, bar, callers = 1, rounds }) {
  const sides = { base: inRounds(base, callers), subject: inRounds(subject, callers) }
  for (const run of Object.values(sides)) await warmUp(run, callers)
  const calls = { base: await callsPerRound(sides.base, callers) }
  calls.subject = await callsPerRound(sides.subject, callers)
  const times = { base: [], subject: [] }
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes with every round: the second one finds what the first has left to the server to do.
    for (const side of round % 2 === 0 ? ['base', 'subject'] : ['subject', 'base']) {
      times[side].push((await sides[side](calls[side])) / calls[side])
    }
  }
  const costs = times.base.map((time, round) => times.subject[round] / time)
  const ratios = 'least' in bar ? costs.map((each) => 1 / each) : costs
  const ratio = median(ratios)
  return {
    name,
    bar,
    baseMicroseconds: median(times.base),
    subjectMicroseconds: median(times.subject),
    ratio,
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
    missed: misses(ratio, bar),
  }
}

/** Resolves to the microseconds that this many calls take, made by so many callers at once. */
function inRounds(call, callers) {
  return async (calls) => {
    const start = performance.now()
    let left = calls
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        while (left-- > 0) await call(caller)
      }),
    )
    return (performance.now() - start) * 1000
  }
}

/** Until the engine has compiled what runs, and each connection has prepared it and settled on a plan. */
async function warmUp(run, callers) {
  for (const end = performance.now() + WARM_UP_MILLISECONDS; performance.now() < end;) await run(callers * 6)
}

/** Enough for a round, and for each caller to be busy for most of it. */
async function callsPerRound(run, callers) {
  let calls = callers === 1 ? 1 : callers * CALLS_EACH
  while (calls < MOST_CALLS && (await run(calls)) < ROUND_MILLISECONDS * 1000) calls *= 2
  return calls
}
