import { access, readFile, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ByteStore } from '../local/contract.js'
import { writeAtomically } from './atomic-file.js'
import { ensureFolder, nullIfMissing, syncFolder } from './file-system.js'
import type { DiskLayout } from './layout.js'
import { describeFile, openBytes, writeObject } from './object-file.js'
import type { StartSweep } from './sweep.js'

/** Stores each object in its own file. A file gets its path once it is complete, and never changes afterwards. */
export function createDiskByteStore(layout: DiskLayout, startSweep: StartSweep): ByteStore {
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
      return onFile(() => openBytes(layout.objectPath(bucket, key), select))
    },

    async create(bucket, key, content) {
      await layout.prepare()
      const path = layout.objectPath(bucket, key)
      await ensureFolder(dirname(path))
      startSweep()
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
      const path = layout.removedPath(bucket, key)
      await ensureFolder(dirname(path))
      startSweep()
      const { drafts } = layout
      await writeAtomically({ path, drafts, replace: true, write: (file) => file.writeFile(String(until)) })
    },

    async closedUntil(bucket, key) {
      const until = await nullIfMissing(readFile(layout.removedPath(bucket, key), 'utf8'))
      // If the folder is gone, report an error: its objects would come back.
      if (until === null) await access(layout.removed)
      return Number(until)
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
