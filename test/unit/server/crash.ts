import { interceptCalls, type Connection } from './world.js'

/**
 * A process that stops after a number of calls to its storage and its store. The next call never runs, and nothing after it.
 * (A crash after a call, before its response arrives, is the same as a crash before the next call.)
 */
export class Crash {
  #calls = 0
  #stop = (): void => undefined

  /** Resolves when the process has stopped. */
  readonly happened = new Promise<'crashed'>((resolve) => {
    this.#stop = () => resolve('crashed')
  })

  readonly connection: Connection = interceptCalls((call) => {
    if (this.#calls++ < this.callsBefore) return call()
    this.#stop()
    return new Promise(() => undefined)
  })

  constructor(readonly callsBefore: number) {}

  get calls(): number {
    return this.#calls
  }
}
