import type { StorageObjectStore } from '@svc/db'
import { callsOf } from '../broken-stores/mutant.js'

/**
 * Simulates a network: delays each call and each result by some turns of the event loop, so concurrent calls arrive in any
 * order.
 */
export function delayed(
  store: StorageObjectStore,
  turns = () => Math.floor(Math.random() * 4),
): StorageObjectStore {
  const calls = Object.entries(callsOf(store))
  const slow = calls.map(([name, call]) => [
    name,
    async (...args: unknown[]) => {
      await wait(turns())
      try {
        return await call.apply(store, args)
      } finally {
        await wait(turns())
      }
    },
  ])
  return Object.fromEntries(slow) as StorageObjectStore
}

async function wait(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}
