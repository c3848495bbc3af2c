import { median, misses } from './ratios.mjs'

/** Long enough for the clock's resolution, short enough that most rounds pass without a garbage collection. */
const ROUND_MICROSECONDS = 1000
const WARM_UP_MILLISECONDS = 300
const MOST_CALLS = 20_000

/**
 * Runs two sides in turn, many short rounds of each, and compares them. Both live in this process and share whatever
 * disturbs it, so their ratio is steady where their times are not.
 *
 * A side is `{ run, reset? }`: `run(calls)` makes that many calls and is timed, `reset()` undoes what they did and is not.
 * A bar is `{ most }` for the ratio, or nothing, which only shows it.
 */
export async function compare({ name, base, subject, bar = {}, rounds = 201 }) {
  await warmUp(base, subject)
  const calls = await callsPerRound(base)
  const times = { base: [], subject: [] }
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes with every round: the second one runs in caches that the first has filled.
    const order = round % 2 === 0 ? ['base', 'subject'] : ['subject', 'base']
    for (const side of order) {
      times[side].push((await timed(side === 'base' ? base : subject, calls)) / calls)
    }
  }
  const ratios = times.base.map((time, round) => times.subject[round] / time)
  const baseMicroseconds = median(times.base)
  const subjectMicroseconds = median(times.subject)
  const ratio = subjectMicroseconds / baseMicroseconds
  return {
    name,
    bar,
    baseMicroseconds,
    subjectMicroseconds,
    ratio,
    missed: misses(ratio, bar),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
  }
}

/** Until the engine has compiled what both sides run. */
async function warmUp(...sides) {
  for (const end = performance.now() + WARM_UP_MILLISECONDS; performance.now() < end;) {
    for (const side of sides) await timed(side, 20)
  }
}

async function callsPerRound(side) {
  let calls = 1
  while (calls < MOST_CALLS && (await timed(side, calls)) < ROUND_MICROSECONDS) calls *= 2
  return calls
}

/** Microseconds of processor time: what others do on a busy machine doesn't count, work of other threads of ours does. */
async function timed({ run, reset }, calls) {
  const start = process.cpuUsage()
  await run(calls)
  const { user, system } = process.cpuUsage(start)
  await reset?.()
  return user + system
}
