/** The clock of a test. It stands still until the test moves it. */
export class ManualClock {
  /** The time at which every test starts. */
  static readonly START = Date.UTC(2026, 0, 1, 12)

  #time = ManualClock.START
  #date = new Date(this.#time)
  #latest = this.#time

  /** Pass this as the `now` of the store. Returns the same `Date` until the clock moves, to catch stores that keep it. */
  readonly now = (): Date => this.#date

  get time(): number {
    return this.#time
  }

  /** The latest time that the clock has shown. */
  get latest(): number {
    return this.#latest
  }

  /** Moves the clock, backwards if negative. */
  advance(milliseconds: number): void {
    this.#set(this.#time + milliseconds)
  }

  moveTo(date: Date): void {
    this.#set(date.getTime())
  }

  /** Returns the date this many milliseconds from now. */
  in(milliseconds: number): Date {
    return new Date(this.#time + milliseconds)
  }

  #set(time: number): void {
    this.#time = time
    this.#date = new Date(time)
    this.#latest = Math.max(this.#latest, time)
  }
}

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** The last date that the contract allows. */
export const END_OF_TIME = new Date('9999-12-31T23:59:59.999Z')
