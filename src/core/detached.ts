/** The parts of `node:async_hooks` that are used. Taken from `process`, because not every runtime of workers has the module. */
interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: 'node:async_hooks'): {
      readonly AsyncLocalStorage?: { snapshot?(): typeof detached }
    }
  }
}

/** Made while this module loads, so it is the context of no request. Node.js before 20.16 has none: work then keeps its context. */
const snapshot = (globalThis as Runtime).process
  ?.getBuiltinModule?.('node:async_hooks')
  ?.AsyncLocalStorage?.snapshot?.()

/** Runs what several requests share without the caller's context, in which an `AsyncLocalStorage` shows one request's user. */
export function detached<T>(work: () => T): T {
  return snapshot ? snapshot(work) : work()
}
