import { median, misses } from './ratios.mjs'

/** Longer than the resolution of the clock, and short enough that most rounds have no garbage collection. */
const ROUND_MICROSECONDS = 1000
const WARM_UP_MILLISECONDS = 300
const MAX_CALLS = 20_000

/**
 * Compares two sides in many short, alternating rounds. Both run in this process and share every disturbance, so their
 * ratio is stable even if their times are not.
 *
 * A side is `{ run, reset? }`: `run(calls)` makes that many calls and is timed, `reset()` undoes them and is not timed.
 * A bar is `{ most }` for the highest ratio. Without a bar, the ratio is only printed.
 */
export async function compare({ name, base, subject, bar = {}, rounds = 201 }) {
  await warmUp(base, subject)
  const calls = await callsPerRound(base)
  const times = { base: [], subject: [] }
  for (let round = 0; round < rounds; round++) {
    // The first side alternates, because the second one runs with warm caches.
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

/** Runs both sides until the engine has compiled them. */
async function warmUp(...sides) {
  for (const end = performance.now() + WARM_UP_MILLISECONDS; performance.now() < end;) {
    for (const side of sides) await timed(side, 20)
  }
}

async function callsPerRound(side) {
  let calls = 1
  while (calls < MAX_CALLS && (await timed(side, calls)) < ROUND_MICROSECONDS) calls *= 2
  return calls
}

/**
 * Returns microseconds of CPU time of this process, including its other threads. Other load on the machine does not
 * count.
 */
async function timed({ run, reset }, calls) {
  const start = process.cpuUsage()
  await run(calls)
  const { user, system } = process.cpuUsage(start)
  await reset?.()
  return user + system
}
