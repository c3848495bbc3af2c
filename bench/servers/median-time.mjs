import { median } from '../ratios.mjs'

const CALLS = 200

/** Milliseconds of a call, one after the other. */
export async function medianTime(call) {
  const times = []
  for (let done = 0; done < CALLS; done++) {
    const start = performance.now()
    await call()
    times.push(performance.now() - start)
  }
  return median(times)
}
