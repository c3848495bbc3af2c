/** Milliseconds of real time for which transactions may take to commit without a delay. */
const COMMITTED_AFTER = 60_000

/** Milliseconds between the remembered numbers. */
const REMEMBER_EVERY = 10_000

/** Looks after this number find everything. */
const BEFORE_ALL = 0n

export interface LookedAfter<Result> {
  readonly result: Result
  /** The first number that the look found, or `null`. */
  readonly first: bigint | null
  /** The last number that was drawn, by any transaction, or `null` if it was not asked for or this role may not know it. */
  readonly drawn: bigint | null
}

interface Drawn {
  /** When the number was known to be drawn. */
  readonly at: number
  readonly number: bigint
}

/**
 * Remembers up to which number of a sequence all rows are gone, like {@link LowWaterMark} for times. A number is drawn before its
 * row is committed. So a look tells that rows are gone only up to the last number that had been drawn a minute before it.
 */
export class NumberMark {
  readonly #fullLookEvery: number
  #mark = BEFORE_ALL
  #fullLookAt = -Infinity
  /** Numbers drawn until now, oldest first. The first is the newest one that is old enough, if any is. */
  #drawn: Drawn[] = []
  #drawnReadAt = -Infinity
  #forgotten = 0

  constructor(fullLookEvery: number) {
    this.#fullLookEvery = fullLookEvery
  }

  /** Forgets everything, also what looks in progress find out. */
  reset(): void {
    this.#mark = BEFORE_ALL
    this.#drawn = []
    this.#drawnReadAt = -Infinity
    this.#forgotten++
  }

  /** Looks for rows. `run` gets the number to start after, and whether to read the last number that was drawn. */
  async look<Result>(
    run: (after: bigint, readsDrawn: boolean) => Promise<LookedAfter<Result>>,
  ): Promise<Result> {
    const [startedAt, forgotten] = [performance.now(), this.#forgotten]
    const isFull = startedAt - this.#fullLookAt >= this.#fullLookEvery
    const readsDrawn = startedAt - this.#drawnReadAt >= REMEMBER_EVERY
    const { result, first, drawn } = await run(isFull ? BEFORE_ALL : this.#mark, readsDrawn)
    if (this.#forgotten !== forgotten) return result
    // Numbers start again in a table that was moved without its sequence.
    if (drawn !== null && drawn < this.#drawnBy(startedAt)) this.reset()
    const committed = this.#drawnBy(startedAt - COMMITTED_AFTER)
    this.#mark = first === null || first > committed ? committed : first - 1n
    if (isFull) this.#fullLookAt = startedAt
    if (readsDrawn) this.#drawnReadAt = startedAt
    if (drawn !== null) this.#remember({ at: performance.now(), number: drawn })
    return result
  }

  #drawnBy(time: number): bigint {
    return this.#drawn.findLast(({ at }) => at <= time)?.number ?? BEFORE_ALL
  }

  #remember(drawn: Drawn): void {
    this.#drawn.push(drawn)
    while ((this.#drawn[1]?.at ?? Infinity) <= drawn.at - COMMITTED_AFTER) this.#drawn.shift()
  }
}
