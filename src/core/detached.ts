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
 * Runs work without the async context of the caller. Use it for what several requests share: otherwise, an `AsyncLocalStorage` would
 * show the functions of the application the user of a request that they don't work for. Where it doesn't exist, such as in Node.js
 * before 20.16, the work keeps the context.
 */
export function detached<T>(work: () => T): T {
  return snapshot ? snapshot(work) : work()
}
