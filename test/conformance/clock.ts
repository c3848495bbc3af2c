/** The time of a test: stands still unless it is moved. */
export class ManualClock {
  /** Where every test begins. */
  static readonly START = Date.UTC(2026, 0, 1, 12)

  #time = ManualClock.START

  /** To be passed as `now`. */
  readonly now = (): Date => new Date(this.#time)

  get time(): number {
    return this.#time
  }

  /** Forwards, or backwards if negative. */
  advance(milliseconds: number): void {
    this.#time += milliseconds
  }

  moveTo(date: Date): void {
    this.#time = date.getTime()
  }

  /** A date so many milliseconds from now. */
  in(milliseconds: number): Date {
    return new Date(this.#time + milliseconds)
  }
}

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** The last date that the contract knows. */
export const END_OF_TIME = new Date('9999-12-31T23:59:59.999Z')
