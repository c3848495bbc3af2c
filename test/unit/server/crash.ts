import { connection, type Connection } from './world.js'

/**
 * A process that stops in the middle: it makes so many calls to its storage and its store, and its next call never
 * happens, nor does anything after it. (What a call did whose answer never arrived is what lies before the next one.)
 */
export class Crash {
  #calls = 0
  #stop = (): void => undefined

  /** Resolves when the process has stopped. */
  readonly happened = new Promise<'crashed'>((resolve) => {
    this.#stop = () => resolve('crashed')
  })

  readonly connection: Connection = connection((call) => {
    if (this.#calls++ < this.callsBefore) return call()
    this.#stop()
    return new Promise(() => undefined)
  })

  constructor(readonly callsBefore: number) {}

  get calls(): number {
    return this.#calls
  }
}
