import type { StorageObjectStore } from '@svc/db'

/**
 * The store as if it were somewhere else: a call arrives some turns of the event loop after it was made, and so does its
 * answer. Calls that are made at once so arrive in any order, and a store that waits within a call is overtaken.
 */
export function delayed(
  store: StorageObjectStore,
  turns = () => Math.floor(Math.random() * 4),
): StorageObjectStore {
  const calls = Object.entries(store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)
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
