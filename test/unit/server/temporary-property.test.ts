import { memoryAdapter } from '@svc/db/memory'
import type { StorageObjectStore } from '@svc/db'
import { itKeepsWhatWasKept } from './temporary-property.js'

/** Opens one database in memory for several processes: each call sets the clock of its process. */
export function openInMemory(): (now: () => Date) => StorageObjectStore {
  let current = () => new Date()
  const shared = memoryAdapter({ now: () => current(), events: true })
  return (now) =>
    Object.fromEntries(
      Object.entries(shared).map(([name, call]: [string, (...input: never[]) => unknown]) => [
        name,
        (...input: never[]) => {
          current = now
          return call(...input)
        },
      ]),
    ) as unknown as StorageObjectStore
}

itKeepsWhatWasKept(() => Promise.resolve(openInMemory()), 20)
