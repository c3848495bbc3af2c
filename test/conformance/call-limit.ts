import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { NoResponse } from './failure.js'

/** Seconds that a call may take: enough for a store over a network on a busy machine. */
const CALL_LIMIT = 60
/** The same once a test has had no response. */
const SHORT_LIMIT = 10
/** Seconds for closing a store that has not responded. */
const CLOSE_LIMIT = 5
/** Seconds after which a case, or one run of a script, can make no more calls. */
const TEST_LIMIT = 120

/**
 * Limits the time of each call in a case or a run of a script. Not all test runners have a time limit, and a call of a store
 * whose pool is exhausted may never end. After the first failure all other calls fail too, which ends loops and scripts.
 */
export class CallLimit {
  readonly #test: string
  readonly #failures: NoResponse[]
  readonly #timer: ReturnType<typeof setTimeout>
  #failure: NoResponse | null = null

  /** `failures` are those of the whole suite. */
  constructor(test: string, failures: NoResponse[]) {
    this.#test = test
    this.#failures = failures
    this.#timer = setTimeout(() => this.#fail(`The test took more than ${TEST_LIMIT} s`), TEST_LIMIT * 1000)
  }

  get hasFailed(): boolean {
    return this.#failure !== null
  }

  /** Ends the limit of the test. */
  end(): void {
    clearTimeout(this.#timer)
  }

  /** Returns the result of the call, or rejects if that takes too long. */
  async of<T>(name: string, result: T | PromiseLike<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const limit = this.#failures.length === 0 ? CALL_LIMIT : SHORT_LIMIT
    const seconds = this.#failure ? CLOSE_LIMIT : limit
    const expiry = new Promise<never>((_resolve, reject) => {
      const expire = () => reject(this.#fail(`\`${name}\` did not respond within ${seconds} s`))
      timer = setTimeout(expire, seconds * 1000)
    })
    return Promise.race([result, expiry]).finally(() => clearTimeout(timer))
  }

  /** Returns the store with limited calls. */
  ofStore(store: StorageObjectStore): StorageObjectStore {
    // A proxy of the store itself could not replace the calls of a frozen one.
    return new Proxy(Object.create(store) as StorageObjectStore, {
      get: (_target, name) => {
        const method: unknown = Reflect.get(store, name)
        if (typeof method !== 'function') return method
        return (...args: readonly unknown[]) => {
          if (this.#failure) return Promise.reject(this.#failure)
          const result: unknown = Reflect.apply(method, store, args)
          // A case checks that calls return promises.
          return isPromise(result) ? this.of(String(name), result) : result
        }
      },
    })
  }

  #fail(what: string): NoResponse {
    if (this.#failure) return this.#failure
    this.#failure = new NoResponse(`${what} (in "${this.#test}").`)
    this.#failures.push(this.#failure)
    return this.#failure
  }
}

function isPromise(result: unknown): result is PromiseLike<unknown> {
  return typeof (result as { then?: unknown } | null | undefined)?.then === 'function'
}
