import { limited } from '../call-options.js'

/** Lets a number of holders in at once, and the others wait. */
export interface Line {
  /** How many may be in at once. */
  size: number
  /** Returns how many are in. */
  readonly count: () => number
  /**
   * Resolves to a function that leaves the line, once there is room. Of those that wait, the owner with the fewest places comes
   * first, then the one that has waited longest. `wait` runs the wait, for example to report it.
   */
  readonly enter: (
    owner: object,
    signal: AbortSignal | null | undefined,
    wait?: (work: () => Promise<unknown>) => Promise<unknown>,
  ) => Promise<() => void>
}

/** One that leaves wakes one that waits: waking all would take quadratic time. */
export function createLine(size: number): Line {
  /** The owner of each place that is taken. */
  const inside: object[] = []
  const waiting = new Map<() => void, object>()

  const placesOf = (owner: object) => inside.filter((other) => other === owner).length
  const leave = (owner: object) => {
    inside.splice(inside.indexOf(owner), 1)
    let next: (() => void) | undefined
    let fewest = Infinity
    for (const [admit, other] of waiting) {
      const places = placesOf(other)
      if (places < fewest) {
        fewest = places
        next = admit
      }
      if (!places) break
    }
    if (next && inside.length < line.size) next()
  }
  const line: Line = {
    size,
    count: () => inside.length,
    async enter(owner, signal, wait = (work) => work()) {
      if (inside.length < line.size) {
        inside.push(owner)
      } else {
        let admit!: () => void
        const admitted = new Promise<void>((resolve) => {
          admit = () => {
            waiting.delete(admit)
            inside.push(owner)
            resolve()
          }
        })
        waiting.set(admit, owner)
        try {
          await wait(() => limited({ signal }, () => admitted))
        } catch (error) {
          // It may have been admitted meanwhile.
          if (!waiting.delete(admit)) leave(owner)
          throw error
        }
      }
      return () => leave(owner)
    },
  }
  return line
}
