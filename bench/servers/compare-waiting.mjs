import { median, misses } from '../ratios.mjs'

const WARM_UP_MILLISECONDS = 300
/** Much shorter than typical disturbances of a shared machine, so each one affects both sides. */
const ROUND_MILLISECONDS = 3
const MAX_CALLS = 4096
/** Calls per caller in a round with many callers, so all of them are busy for most of it. */
const CALLS_PER_CALLER = 3

/** Describes how {@link compareWaiting} measures, for the output of the benchmarks. */
export const METHOD = `Method: both sides of a line use the same server and connections, in short, alternating rounds of as many calls as take 3 ms
or more. Times are medians of the rounds, in microseconds from the start of the first call to the end of the last one,
divided by the number of calls. The ratio is the median of the rounds' ratios: the time of the right side divided by that of
the left (bars with <=), or its calls per second divided by those of the left (bars with >=). The lowest and highest ratio
show the noise.`

/**
 * Compares how long the callers of two sides wait, in many short, alternating rounds. Both sides use the same server
 * and pool and share every disturbance, so their ratio is stable even if their times are not. The result is the median
 * of the rounds' ratios. On a busy machine, times jump between two levels, and the medians of both sides may fall on
 * different ones.
 *
 * `prepare` may have a function for either side. It gets the number of calls of a round, and runs before it, outside the time. `calls` sets
 * that number, for calls that take long.
 *
 * A side is an async function that makes one call. `callers` of them run concurrently. A bar is `{ most }` for the
 * highest ratio of times, or `{ least }` for the lowest ratio of calls per second. With `null` instead of a number, the
 * ratio is only printed.
 */
export async function compareWaiting(comparison) {
  const { name, base, subject, bar, callers = 1, rounds, prepare = {} } = comparison
  const sides = {
    base: inRounds(base, callers, prepare.base),
    subject: inRounds(subject, callers, prepare.subject),
  }
  for (const run of Object.values(sides)) await warmUp(run, comparison.calls ?? callers * 6)
  const calls = { base: comparison.calls ?? (await callsPerRound(sides.base, callers)) }
  calls.subject = comparison.calls ?? (await callsPerRound(sides.subject, callers))
  const times = { base: [], subject: [] }
  for (let round = 0; round < rounds; round++) {
    // The first side alternates, because the server may still finish work of the first when the second runs.
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

/** Creates a function that makes this many calls with concurrent callers and returns the time in microseconds. */
function inRounds(call, callers, prepare = () => {}) {
  return async (calls) => {
    await prepare(calls)
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

/** Runs a side until the engine has compiled it and every connection has prepared its statements and kept a plan. */
async function warmUp(run, calls) {
  for (const end = performance.now() + WARM_UP_MILLISECONDS; performance.now() < end;) await run(calls)
}

/** Returns how many calls fill a round and keep every caller busy for most of it. */
async function callsPerRound(run, callers) {
  let calls = callers === 1 ? 1 : callers * CALLS_PER_CALLER
  while (calls < MAX_CALLS && (await run(calls)) < ROUND_MILLISECONDS * 1000) calls *= 2
  return calls
}

const CALLS_PER_MEDIAN = 200

/** Returns the median time of sequential calls in milliseconds. */
export async function medianTime(call) {
  const times = []
  for (let done = 0; done < CALLS_PER_MEDIAN; done++) {
    const start = performance.now()
    await call()
    times.push(performance.now() - start)
  }
  return median(times)
}
