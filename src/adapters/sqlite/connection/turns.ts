import { isBusy, unavailable } from './failures.js'

/** How long a call waits for the file, in milliseconds. */
export const PATIENCE_MILLISECONDS = 5000

const LONGEST_PAUSE_MILLISECONDS = 10

/** After that, jobs that wait let the other work of the process go on. */
const LONGEST_TURN_MILLISECONDS = 5

/** Refuses to begin now, for another reason than a busy file. */
export class NotNow extends Error {}

interface Waiting {
  /** Returns why the job can't begin yet, or `null` if it is done. */
  readonly attempt: () => { readonly refusal: Error } | null
  readonly giveUp: (refusal: Error) => void
  readonly until: number
}

/**
 * Runs jobs that SQLite refuses while another connection has the file. Both libraries block the process while they wait, so jobs wait
 * here instead, with pauses in which the process goes on. Those that wait keep their order.
 */
export class Turns {
  readonly #waiting: Waiting[] = []

  /**
   * Runs a job at once, or as soon as it can begin: then its argument is `true`. A job that throws {@link NotNow}, or what {@link isBusy},
   * has done nothing. Rejects with what `failureOf` makes of an error.
   */
  run<T>(job: (hasWaited: boolean) => T, failureOf: (error: unknown) => Error): Promise<T> {
    if (this.#waiting.length > 0) return this.#queue(job, failureOf)
    // Most jobs need no more than this, and a read costs little more than its promise.
    try {
      return Promise.resolve(job(false))
    } catch (error) {
      return isRefusal(error) ? this.#queue(job, failureOf) : Promise.reject(failureOf(error))
    }
  }

  #queue<T>(job: (hasWaited: boolean) => T, failureOf: (error: unknown) => Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown) => reject(failureOf(error))
      const attempt = () => {
        try {
          resolve(job(true))
        } catch (error) {
          if (isRefusal(error)) return { refusal: error }
          fail(error)
        }
        return null
      }
      const until = performance.now() + PATIENCE_MILLISECONDS
      this.#waiting.push({ attempt, giveUp: (refusal) => fail(reasonOf(refusal)), until })
      if (this.#waiting.length === 1) void this.#workOff()
    })
  }

  async #workOff(): Promise<void> {
    for (let tries = 1; this.#waiting.length > 0; tries++) {
      // A random pause, because processes with the same one would meet again and again.
      const pause = Math.min(tries, LONGEST_PAUSE_MILLISECONDS) * Math.random()
      await new Promise((resolve) => setTimeout(resolve, pause))
      if (this.#work()) tries = 0
    }
  }

  /** Runs what waits, until the file is busy again or others should run. Returns whether a job was done. */
  #work(): boolean {
    const end = performance.now() + LONGEST_TURN_MILLISECONDS
    for (let done = 0; ; done++) {
      const first = this.#waiting[0]
      if (!first || (done > 0 && performance.now() > end)) return true
      const refused = first.attempt()
      if (refused) {
        this.#giveUp(refused.refusal)
        return done > 0
      }
      this.#waiting.shift()
    }
  }

  /** Ends the jobs that have waited for too long, the oldest first. */
  #giveUp(refusal: Error): void {
    const now = performance.now()
    while (this.#waiting[0] && this.#waiting[0].until <= now) this.#waiting.shift()!.giveUp(refusal)
  }
}

function isRefusal(error: unknown): error is Error {
  return error instanceof NotNow || isBusy(error)
}

function reasonOf(refusal: Error): Error {
  if (!(refusal instanceof NotNow)) return refusal
  return unavailable({ message: refusal.message, retryable: true })
}
