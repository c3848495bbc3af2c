import type { BrokenStore } from '../broken-stores/index.js'

export type { BrokenStore } from '../broken-stores/index.js'

/**
 * Returns stores with one defect each, which the suite rejects: what an adapter can get wrong, and the tests that notice it.
 * Each is created like a store of `createStore`, some with further options of the suite.
 *
 * @example
 * import { brokenStores } from '@svc/db/conformance'
 *
 * for (const { defect, rejectedBy } of await brokenStores()) console.log(defect, rejectedBy)
 */
export async function brokenStores(): Promise<readonly BrokenStore[]> {
  return (await import('../broken-stores/index.js')).BROKEN_STORES
}
