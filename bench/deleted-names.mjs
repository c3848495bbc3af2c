import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAttemptId, memoryStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { compare } from './compare.mjs'

const FEW = 10
const MANY = 100_000
/** Deletes in flight while a storage is filled. */
const AT_ONCE = 64
const BODY = new Uint8Array(100)

/**
 * Compares writes and deletes of a storage that remembers many deleted names with one that remembers few. A name is remembered as long
 * as an upload URL may still write there.
 */
export async function compareDeletedNames() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-bench-'))
  const writableUntil = new Date(Date.now() + 60 * 60 * 1000)
  try {
    const kinds = {
      memoryStorage: () => memoryStorage(),
      diskStorage: (count) => diskStorage({ directory: join(folder, String(count)) }),
    }
    const results = []
    for (const [name, create] of Object.entries(kinds)) {
      const sides = {}
      for (const [side, count] of Object.entries({ base: FEW, subject: MANY })) {
        const storage = create(count)
        await removeMany(storage, count, writableUntil)
        sides[side] = writesAndDeletes(storage, writableUntil)
      }
      results.push(await compare({ name: `${name}: a write and its delete`, bar: { most: 1.3 }, ...sides }))
    }
    return { base: FEW, subject: MANY, results }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function removeMany(storage, count, writableUntil) {
  let removed = 0
  const work = Array.from({ length: AT_ONCE }, async () => {
    while (removed < count) await storage.remove({ bucket: 'files', key: `old ${removed++}`, writableUntil })
  })
  await Promise.all(work)
}

function writesAndDeletes(storage, writableUntil) {
  let made = 0
  return {
    async run(calls) {
      for (let call = 0; call < calls; call++) {
        const at = { bucket: 'files', key: `new ${made++}` }
        const terms = { contentType: 'text/plain', attemptId: createAttemptId(), writableUntil }
        if (!(await storage.write({ ...at, body: BODY, ...terms }))) throw new Error('A write was refused.')
        await storage.remove({ ...at, writableUntil })
      }
    },
  }
}
