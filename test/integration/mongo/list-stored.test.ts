import { createAttemptId, type StorageObjectStore, type StoredItem } from '@svc/db'
import { mongoAdapter } from '@svc/db/mongo'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const BUCKET = 'bucket'
const NAMES = ['a', 'a/1', 'a/2', 'a/é', 'a/\uffff', 'a/\u{1f600}', 'a0', 'b', '\u{10ffff}', '\u{10ffff}b']

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
const nameOf = ({ key, storageKey }: { key: string; storageKey: string | null }) => storageKey ?? key

// The conformance suite has fewer items of one name than a page.
describeMongo('listStored of the MongoDB adapter', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const store = mongoAdapter(db)
  let expected: string[]
  beforeAll(async () => {
    await store.migrate()
    await fill(store)
    const { objects } = await store.listByScope({ scope: 'scope', limit: 1000 })
    const all = [...objects, ...(await store.listLeftovers({ limit: 1000 }))]
    expected = all
      .filter(({ bucket }) => bucket === BUCKET)
      .map(nameOf)
      .sort(byBytes)
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  describe.each([undefined, 'a', 'a/', '\u{10ffff}', 'none'])('with prefix %s', (prefix) => {
    it.each([1, 2, 3, 10, 1000])(
      'splits no name of rows and leftovers between pages of %d',
      async (limit) => {
        const found: StoredItem[] = []
        for (let page: readonly StoredItem[] | null = null; page === null || page.length >= limit;) {
          page = await store.listStored({ bucket: BUCKET, prefix, limit, after: found.at(-1)?.storageKey })
          found.push(...page)
        }
        expect(found.map(({ storageKey }) => storageKey)).toEqual(
          expected.filter((name) => name.startsWith(prefix ?? '')),
        )
        const parts = found.map(({ object, leftover }) => object ?? leftover)
        expect(found.map(({ storageKey }) => storageKey)).toEqual(parts.map(nameOf))
        expect(new Set(parts.map(({ attemptId }) => attemptId)).size).toBe(found.length)
      },
    )
  })
})

/** Creates objects, replacements and leftovers in two buckets, several for each name, by key and by storage key. */
async function fill(store: StorageObjectStore): Promise<void> {
  const input = { scope: 'scope', declaredSize: 5, expiresAt: new Date(Date.now() + 3_600_000) }
  for (const bucket of [BUCKET, 'another']) {
    for (const [i, name] of NAMES.entries()) {
      const at = { bucket, key: name }
      for (let n = 0; n <= i % 4; n++) {
        await store.reserve({ ...input, ...at, uploadId: `upload ${n}` })
        await store.release(at)
      }
      if (i % 3) {
        await store.reserve({ ...input, ...at })
        await store.confirm({ ...at, size: 5 })
      }
      if (i % 2) await store.reserve({ ...input, ...at })
      for (let n = 0; n < i % 5; n++) {
        const other = { bucket, key: `other ${i} ${n}` }
        await store.reserve({ ...input, ...other, id: createAttemptId(), storageKey: name })
        if (n % 2) await store.confirm({ ...other, size: 5 })
        if (n === 1) await store.remove({ ...other, mode: 'hard' })
      }
    }
  }
}
