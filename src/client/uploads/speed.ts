/** Milliseconds over which the speed is averaged, because browsers report progress in bursts. */
const MEMORY = 10_000

/** How long a moment lasts, in milliseconds. */
const MOMENT = 100

/** Measures how fast bytes are sent, over all files. */
export function createSpeed() {
  /** The bytes that were sent until each moment, the oldest first. */
  let moments: { readonly at: number; bytes: number }[] = []
  let total = 0
  return {
    /** Counts bytes that were sent. */
    add(bytes: number): void {
      total += bytes
      const at = Date.now()
      const last = moments[moments.length - 1]
      if (last && Math.abs(at - last.at) < MOMENT) last.bytes = total
      else moments = [...moments.filter((each) => Math.abs(at - each.at) < MEMORY), { at, bytes: total }]
    },
    /** Forgets the past. */
    reset(): void {
      moments = []
    },
    /** Returns bytes per second, or 0 if the speed is not known. */
    now(): number {
      const [first] = moments
      const last = moments[moments.length - 1]
      return first && last && last.at > first.at
        ? (1000 * (last.bytes - first.bytes)) / (last.at - first.at)
        : 0
    },
  }
}
