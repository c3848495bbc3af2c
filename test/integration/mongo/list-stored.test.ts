import { createAttemptId, type StorageObjectStore, type StoredItem } from '@svc/db'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const BUCKET = 'bucket'
const NAMES = ['a', 'a/1', 'a/2', 'a/é', 'a/\uffff', 'a/\u{1f600}', 'a0', 'b', '\u{10ffff}', '\u{10ffff}b']

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
const nameOf = ({ key, storageKey }: { key: string; storageKey: string | null }) => storageKey ?? key

describeMongo('listStored of the MongoDB adapter', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const store = mongoAdapter(db)
  let expected: string[]
  beforeAll(async () => {
    await store.migrate()
    await fill(store)
    expected = await namesIn(store)
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  describe('walks through rows and leftovers in the order of UTF-8 bytes, and splits no name', () => {
    for (const prefix of [undefined, 'a', 'a/', '\u{10ffff}', 'none']) {
      it.each([1, 2, 3, 10, 1000])(`with prefix ${prefix}, %d at a time`, async (limit) => {
        const found: StoredItem[] = []
        for (;;) {
          const page = await store.listStored({
            bucket: BUCKET,
            prefix,
            limit,
            after: found.at(-1)?.storageKey,
          })
          found.push(...page)
          if (page.length < limit) break
        }
        expect(found.map(({ storageKey }) => storageKey)).toEqual(
          expected.filter((name) => name.startsWith(prefix ?? '')),
        )
        for (const { storageKey, object, leftover } of found) {
          expect(storageKey).toBe(nameOf(object ?? leftover))
        }
        const attempts = found.map(({ object, leftover }) => (object ?? leftover).attemptId)
        expect(new Set(attempts).size).toBe(found.length)
      })
    }
  })
})

/** Creates objects, replacements and leftovers in two buckets, several for each name. */
async function fill(store: StorageObjectStore): Promise<void> {
  const input = { scope: 'scope', declaredSize: 5, expiresAt: new Date(Date.now() + 3_600_000) }
  for (const bucket of [BUCKET, 'another']) {
    for (const [i, name] of NAMES.entries()) {
      const at = { bucket, key: name }
      // Leftovers by key.
      for (let n = 0; n <= i % 4; n++) {
        await store.reserve({ ...input, ...at, uploadId: `upload ${n}` })
        await store.release(at)
      }
      // An object and its replacement by key.
      if (i % 3) {
        await store.reserve({ ...input, ...at })
        await store.confirm({ ...at, size: 5 })
      }
      if (i % 2) await store.reserve({ ...input, ...at })
      // Of other keys, objects, replacements and leftovers by storage key, which may equal the names of the others.
      for (let n = 0; n < i % 5; n++) {
        const other = { bucket, key: `other ${i} ${n}` }
        const create = () => store.reserve({ ...input, ...other, id: createAttemptId(), storageKey: name })
        await create()
        if (n % 2) await store.confirm({ ...other, size: 5 })
        if (n === 1) await store.remove({ ...other, mode: 'hard' })
      }
    }
  }
}

/** Returns the names of all rows and leftovers of the bucket, in order. */
async function namesIn(store: StorageObjectStore): Promise<string[]> {
  const { objects } = await store.listByScope({ scope: 'scope', limit: 1000 })
  const leftovers = await store.listLeftovers({ limit: 1000 })
  const all = [...objects, ...leftovers].filter(({ bucket }) => bucket === BUCKET)
  return all.map(nameOf).sort(byBytes)
}
