/** How much the latest measurement changes the average. */
const WEIGHT = 0.3
/** Milliseconds between two measurements. */
const INTERVAL = 500

export interface Speed {
  readonly bytesPerSecond: number
  readonly secondsLeft: number
}

/** Returns a function that takes the progress of an upload and returns its average speed, or `null` until it is known. */
export function speedometer(): (progress: { loaded: number; total: number }) => Speed | null {
  let measured: { readonly at: number; readonly loaded: number } | null = null
  let average: number | null = null

  return ({ loaded, total }) => {
    const at = performance.now()
    // A resumed upload starts with the bytes that the bucket has already.
    measured ??= { at, loaded }
    if (at - measured.at >= INTERVAL) {
      const latest = ((loaded - measured.loaded) * 1000) / (at - measured.at)
      average = average === null ? latest : average + WEIGHT * (latest - average)
      measured = { at, loaded }
    }
    return average ? { bytesPerSecond: average, secondsLeft: (total - loaded) / average } : null
  }
}
