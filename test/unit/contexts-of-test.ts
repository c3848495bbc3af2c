import { AsyncLocalStorage } from 'node:async_hooks'
import { onTestFinished } from 'vitest'

/** Creates an `AsyncLocalStorage` that ends with the test: one that stays enabled slows every promise of the files that follow. */
export function contextsOfTest(): AsyncLocalStorage<string> {
  const contexts = new AsyncLocalStorage<string>()
  onTestFinished(() => contexts.disable())
  return contexts
}
