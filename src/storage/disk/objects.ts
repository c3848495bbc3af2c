import { access, open, unlink, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ByteStore } from '../local/contract.js'
import { createAtomically, removeAbandonedDrafts } from './atomic-file.js'
import type { DiskLayout } from './layout.js'
import { bodyOfFile } from './file-body.js'
import { ensureFolder, nullIfMissing, syncFolder } from './file-system.js'
import { readDescription, writeObject, type ObjectDescription } from './object-file.js'

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

  function openFile(bucket: string, key: string): Promise<FileHandle | null> {
    return onFile(() => open(layout.objectPath(bucket, key), 'r'))
  }

  return {
    async describe(bucket, key) {
      const file = await openFile(bucket, key)
      if (!file) return null
      try {
        const { size, contentType, eTag, attemptId } = await readDescription(file)
        return { size, contentType, eTag, attemptId }
      } finally {
        await file.close()
      }
    },

    async open(bucket, key, range) {
      const file = await openFile(bucket, key)
      if (!file) return null
      const { size } = await readDescriptionOrClose(file)
      const start = range?.start ?? 0
      const end = Math.min(range ? range.end + 1 : size, size)
      return { size: end - start, body: await bodyOfFile(file, start, end) }
    },

    async create(bucket, key, content) {
      await layout.prepare()
      const path = layout.objectPath(bucket, key)
      await ensureFolder(dirname(path))
      let eTag: string | null = null
      const created = await createAtomically({
        path,
        drafts: layout.drafts,
        beforePublishing: content.beforePublishing,
        async write(file) {
          await removeAbandonedDrafts(layout.drafts, (await file.stat()).mtimeMs)
          eTag = await writeObject(file, { bucket, key }, content)
        },
      })
      return created ? eTag : null
    },

    async remove(bucket, key) {
      const path = layout.objectPath(bucket, key)
      await onFile(async () => {
        await unlink(path)
        await syncFolder(dirname(path))
        return true
      })
    },

    async *objects(bucket) {
      await layout.prepare()
      for await (const path of layout.objectPaths()) {
        const file = await nullIfMissing(open(path, 'r'))
        // Removed in between.
        if (!file) continue
        try {
          const { mtime } = await file.stat()
          const { bucket: itsBucket, key, size, eTag } = await readDescription(file)
          if (itsBucket === bucket) yield { key, size, eTag, lastModified: mtime }
        } finally {
          await file.close()
        }
      }
    },
  }
}

async function readDescriptionOrClose(file: FileHandle): Promise<ObjectDescription> {
  try {
    return await readDescription(file)
  } catch (error) {
    await file.close()
    throw error
  }
}
