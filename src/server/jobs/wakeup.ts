import { startTimer } from '../events/timer.js'

/** Lets a loop wait for the next thing to do, without missing what happens between two waits. */
export class Wakeup {
  #isCalled = false
  #wake: (() => void) | null = null

  /** Ends the current wait or, if there is none, the next one. */
  readonly call = (): void => {
    this.#isCalled = true
    this.#wake?.()
  }

  /** Forgets earlier calls. */
  reset(): void {
    this.#isCalled = false
  }

  /** Resolves at a call, or after these seconds. `null` waits for a call only. */
  async wait(seconds: number | null): Promise<void> {
    if (this.#isCalled) return
    await new Promise<void>((resolve) => {
      const stop = seconds === null ? null : startTimer(seconds, resolve, false)
      this.#wake = () => {
        stop?.()
        resolve()
      }
    })
    this.#wake = null
  }
}
