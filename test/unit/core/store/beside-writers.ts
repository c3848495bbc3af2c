import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { memoryAdapter, type SeedObject } from '@svc/db/memory'
import fc from 'fast-check'
import { expect } from 'vitest'
import { afterNoon, NOON } from '../settable-clock.js'

// The pages have 500 rows.

const ROWS = 1203
const now = () => NOON

function seed(index: number): SeedObject {
  const status = (['active', 'pending', 'active', 'deleted'] as const)[index % 4]!
  const place = { scope: index % 7 === 0 ? 'bob' : 'ann', bucket: 'files', key: `key ${index}` }
  return { ...place, id: createAttemptId({ now }), status, route: index % 3 === 0 ? 'photos' : null }
}

export const storeWithRows = () =>
  memoryAdapter({ now, objects: Array.from({ length: ROWS }, (_, index) => seed(index)) })

export async function listed(
  store: StorageObjectStore,
  input: Parameters<StorageObjectStore['listByScope']>[0],
): Promise<StorageObject[]> {
  const { objects, nextCursor } = await store.listByScope(input)
  return nextCursor === undefined
    ? objects
    : [...objects, ...(await listed(store, { ...input, cursor: nextCursor }))]
}

const write = fc.record({
  kind: fc.constantFrom('create', 'remove', 'transfer', 'rename', 'confirm', 'replace'),
  row: fc.nat(ROWS - 1),
  /** After how many rows. */
  after: fc.nat(1000),
})

/** Expects that a row that stays is yielded once, and none twice, beside writers. */
export async function checkBesideWriters(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 60 }), async (writes) => {
      const store = storeWithRows()
      const before = await listed(store, { scope: 'ann', limit: 1000 })
      const touched = new Set<string>()
      const seen: StorageObject[] = []
      for await (const row of store.iterateByScope({ scope: 'ann' })) {
        seen.push(row)
        const due = writes.filter(({ after }) => after === seen.length)
        for (const { kind, row: index } of due) {
          const { bucket, key } = seed(index)
          const at = { bucket, key }
          // Renamed and confirmed objects stay where they are in the list.
          if (['remove', 'transfer', 'replace'].includes(kind)) touched.add(key)
          if (kind === 'create') await reserve(store, `new ${index}`)
          if (kind === 'remove') await store.remove(at)
          if (kind === 'transfer') await store.transfer({ ...at, from: 'ann', to: 'bob' })
          if (kind === 'rename') await store.update({ ...at, filename: 'renamed' })
          if (kind === 'confirm') await store.confirm({ ...at, size: 1 }).catch(() => undefined)
          if (kind === 'replace') await reserve(store, key).catch(() => undefined)
        }
      }
      const ids = seen.map(({ id }) => id)
      expect(ids).toEqual([...new Set(ids)].sort().reverse())
      const kept = (rows: readonly StorageObject[]) =>
        rows.filter(({ key }) => !touched.has(key)).map(({ id }) => id)
      expect(kept(seen)).toEqual(kept(before))
    }),
    { numRuns },
  )
}

function reserve(store: StorageObjectStore, key: string) {
  return store.reserve({ scope: 'ann', bucket: 'files', key, declaredSize: 1, expiresAt: afterNoon(1000) })
}
