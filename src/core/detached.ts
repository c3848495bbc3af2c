/** The parts of `node:async_hooks` that are used. Taken from `process`, because not every runtime of workers has the module. */
interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: 'node:async_hooks'): {
      readonly AsyncLocalStorage?: { snapshot?(): typeof detached }
    }
  }
}

/** Made while this module loads, so it is the context of no request. */
const snapshot = (globalThis as Runtime).process
  ?.getBuiltinModule?.('node:async_hooks')
  ?.AsyncLocalStorage?.snapshot?.()

/**
 * Runs work that several requests share without the async context of the caller: an `AsyncLocalStorage` would show the functions
 * of the application the user of another request. Node.js before 20.16 and some runtimes of workers can't leave the context.
 */
export function detached<T>(work: () => T): T {
  return snapshot ? snapshot(work) : work()
}
