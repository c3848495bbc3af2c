/** How many items may be started after one that isn't done. What is known of them stays in memory until then. */
const MAX_AHEAD = 1000

/** Calls functions in the order of their items, in whatever order these are done. */
export class InOrder {
  /** The first item that isn't done. */
  #first = 0
  readonly #done = new Map<number, () => void>()
  #waiting: (() => void)[] = []
  #isStopped = false

  /** Resolves once the item may start, or once there is no need to wait. */
  async roomFor(index: number): Promise<void> {
    while (index - this.#first >= MAX_AHEAD && !this.#isStopped) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** Calls the function once every item before this one is done. */
  done(index: number, call: () => void): void {
    this.#done.set(index, call)
    for (let next; (next = this.#done.get(this.#first));) {
      this.#done.delete(this.#first++)
      next()
    }
    this.#wake()
  }

  /** Ends the wait for room, because an item before may never be done. */
  stop(): void {
    this.#isStopped = true
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
