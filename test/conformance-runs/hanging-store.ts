import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { vi } from 'vitest'

/** Returns a `createStore` whose stores never respond to one call, and how often it was made. Needs fake timers. */
export function hanging(name: keyof StorageObjectStore) {
  const call = vi.fn(() => {
    void vi.advanceTimersByTimeAsync(60_000)
    return new Promise<never>(() => undefined)
  })
  const createStore = vi.fn((context: { readonly now: () => Date; readonly events: boolean }) => {
    const store: StorageObjectStore = { ...memoryAdapter(context), [name]: call }
    return store
  })
  return { createStore, call }
}
