/**
 * Milliseconds that a look starts before its mark: for as long, transactions may take to commit, and clocks of processes may
 * differ, without a delay.
 */
const REACH = 60_000

/** Starts before all entries of an index. */
export const FROM_START = -Infinity

export interface Looked<Result> {
  readonly result: Result
  /** The first time in the index when the look began, in milliseconds, or `null` if there was none up to its end. */
  readonly first: number | null
}

/**
 * Remembers where the entries of an index by time begin. While an old snapshot is open, entries of rows that are gone stay in
 * front of them, and a look from the beginning reads the row of each.
 *
 * A look may start at the mark only for some time after one that started at the beginning, so nothing is overlooked for longer. What this process makes due at an
 * earlier time lowers the mark.
 */
export class LowWaterMark {
  readonly #fullLookEvery: number
  #mark = FROM_START
  #fullLookAt = -Infinity
  readonly #lowestDuring = new Set<{ time: number }>()

  constructor(fullLookEvery: number) {
    this.#fullLookEvery = fullLookEvery
  }

  /** Notes that something became due at this time. Call it once the write has ended: looks that began before may have missed it. */
  lower(time: number): void {
    this.#mark = Math.min(this.#mark, time)
    for (const lowest of this.#lowestDuring) lowest.time = Math.min(lowest.time, time)
  }

  /** Looks for entries up to a time. `run` gets the time to start at. */
  async look<Result>(upto: number, run: (from: number) => Promise<Looked<Result>>): Promise<Looked<Result>> {
    const startedAt = performance.now()
    // Other processes go on to make things due at later times than now.
    const certainUpto = Math.min(upto, Date.now())
    // A look that ends before the mark says nothing about the entries up to it.
    const isBefore = upto < this.#mark
    const isFull = isBefore || startedAt - this.#fullLookAt >= this.#fullLookEvery
    const lowest = { time: Infinity }
    this.#lowestDuring.add(lowest)
    try {
      const looked = await run(isFull ? FROM_START : this.#mark - REACH)
      const first = Math.min(looked.first ?? Infinity, isBefore ? Infinity : certainUpto, lowest.time)
      this.#mark = isBefore ? Math.min(this.#mark, first) : first
      if (isFull && !isBefore) this.#fullLookAt = startedAt
      return looked
    } finally {
      this.#lowestDuring.delete(lowest)
    }
  }
}
