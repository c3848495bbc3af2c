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
   *
   * Each one that leaves because it `hasFailed` halves the room, and each other one adds a place again.
   */
  readonly enter: (
    owner: object,
    signal: AbortSignal | null | undefined,
    wait?: (work: () => Promise<unknown>) => Promise<unknown>,
  ) => Promise<(hasFailed?: boolean) => void>
}

/** One that leaves wakes no more than there is room for: waking all would take quadratic time. */
export function createLine(size: number): Line {
  /** The owner of each place that is taken. */
  const inside: object[] = []
  const waiting = new Map<() => void, object>()
  /** How many may be in at once, for as long as it is below `size`. */
  let room = size

  const hasRoom = () => inside.length < Math.min(room, line.size)
  const placesOf = (owner: object) => inside.filter((other) => other === owner).length
  const leave = (owner: object, hasFailed?: boolean) => {
    inside.splice(inside.indexOf(owner), 1)
    room = hasFailed ? Math.min(room, line.size) / 2 : room + 1
    while (hasRoom() && waiting.size) {
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
      next!()
    }
  }
  const line: Line = {
    size,
    count: () => inside.length,
    async enter(owner, signal, wait = (work) => work()) {
      if (hasRoom()) {
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
      return (hasFailed) => leave(owner, hasFailed)
    },
  }
  return line
}

/** Runs work in a line. Unless the signal has ended it, its failure halves the room of the line. */
export async function inLine(
  line: Line,
  owner: object,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const leave = await line.enter(owner, signal)
  try {
    await work()
  } catch (error) {
    leave(!signal.aborted)
    throw error
  }
  leave()
}
