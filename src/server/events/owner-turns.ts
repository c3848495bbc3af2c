/** Milliseconds between two looks for other owners, for which a store searches many events. */
const PERIOD = 500

/** Knows whose events a job has started last, so that the next ones can be those of other owners. */
export class OwnerTurns {
  readonly #places: number
  readonly #now: () => Date
  /** The owners of the events that were started last, one for each place. */
  readonly #served: string[] = []
  #wasForOthers = false
  #lastAt = -Infinity

  constructor(places: number, now: () => Date) {
    this.#places = places
    this.#now = now
  }

  started(scope: string): void {
    this.#served.push(scope)
    if (this.#served.length > this.#places) this.#served.shift()
  }

  /**
   * Returns the owners who come last at this look. At least every other look goes by age alone, so an owner with a slow handler
   * waits for no stream of others.
   */
  next(): readonly string[] {
    const time = this.#now().getTime()
    const isForOthers =
      !this.#wasForOthers && this.#served.length > 0 && Math.abs(time - this.#lastAt) >= PERIOD
    this.#wasForOthers = isForOthers
    if (!isForOthers) return []
    this.#lastAt = time
    return [...new Set(this.#served)]
  }
}
