import { access, open, readFile, unlink, utimes, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ByteStore } from '../local/contract.js'
import { writeAtomically } from './atomic-file.js'
import { ensureFolder, nullIfMissing, OWNER_ONLY, syncFolder } from './file-system.js'
import type { DiskLayout } from './layout.js'
import { describeFile, openBytes, writeObject } from './object-file.js'

/** 7 days, the longest that an upload URL works. */
const LONGEST_URL_MS = 7 * 24 * 60 * 60 * 1000

/** Stores each object in its own file. A file gets its path once it is complete, and never changes afterwards. */
export function createDiskByteStore(layout: DiskLayout): ByteStore {
  /** Runs a call on an object's file. Returns `null` if there is no such file. */
  async function onFile<T>(call: () => Promise<T>): Promise<T | null> {
    await layout.prepare()
    const result = await nullIfMissing(call())
    // If the whole directory is gone, report an error instead of a missing object.
    if (result === null) await access(layout.objects)
    return result
  }

  return {
    async describe(bucket, key) {
      const found = await onFile(() => describeFile(layout.objectPath(bucket, key)))
      if (!found) return null
      const { size, contentType, eTag, attemptId } = found
      return { size, contentType, eTag, attemptId }
    },

    async open(bucket, key, select) {
      const file = await onFile(() => open(layout.objectPath(bucket, key), 'r'))
      return file && openBytes(file, select)
    },

    async create(bucket, key, content) {
      await layout.prepare()
      const path = layout.objectPath(bucket, key)
      await ensureFolder(dirname(path))
      return writeAtomically({
        path,
        drafts: layout.drafts,
        write: (file) => writeObject(file, { bucket, key }, content),
        beforePublishing: content.beforePublishing,
      })
    },

    async remove(bucket, key) {
      const path = layout.objectPath(bucket, key)
      await onFile(async () => {
        await unlink(path)
        await syncFolder(dirname(path))
        return true
      })
    },

    async close(bucket, key, until) {
      await layout.prepare()
      const path = layout.closedPath(bucket, key)
      await writeFile(path, String(until), { mode: OWNER_ONLY })
      const abandoned = new Date(Date.now() + LONGEST_URL_MS)
      await utimes(path, abandoned, abandoned)
    },

    async closedUntil(bucket, key) {
      return Number(await nullIfMissing(readFile(layout.closedPath(bucket, key), 'utf8')))
    },

    async *objects(bucket) {
      await layout.prepare()
      for await (const path of layout.objectPaths()) {
        // Null if it was removed in between.
        const found = await nullIfMissing(describeFile(path))
        if (found?.bucket !== bucket) continue
        const { key, size, eTag, lastModified } = found
        yield { key, size, eTag, lastModified }
      }
    },
  }
}
