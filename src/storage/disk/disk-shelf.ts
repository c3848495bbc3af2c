import { access, open, unlink, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ByteShelf } from '../signed-urls/byte-shelf.js'
import { removeAbandonedDrafts } from './abandoned-drafts.js'
import { createWhole } from './create-whole.js'
import type { DiskLayout } from './disk-layout.js'
import { ensureFolder, syncFolder } from './durable-folder.js'
import { bodyOfFile } from './file-body.js'
import { isMissing } from './file-errors.js'
import { readDescription, writeObject, type ObjectDescription } from './object-file.js'

/** Keeps each object in a file of its own, which is linked to its place when it is whole and never changed. */
export function createDiskShelf(layout: DiskLayout): ByteShelf {
  /** What a call to the file of an object answers; `null` where there is no such file. */
  async function ifThere<T>(call: () => Promise<T>): Promise<T | null> {
    await layout.prepare()
    try {
      return await call()
    } catch (error) {
      if (!isMissing(error)) throw error
      // Without its directory nothing is known of any object.
      await access(layout.objects)
      return null
    }
  }

  function openFile(bucket: string, key: string): Promise<FileHandle | null> {
    return ifThere(() => open(layout.objectPath(bucket, key), 'r'))
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

    async open(bucket, key) {
      const file = await openFile(bucket, key)
      if (!file) return null
      const { size } = await describedOrClosed(file)
      return { size, body: await bodyOfFile(file, size) }
    },

    async create(bucket, key, content) {
      await layout.prepare()
      const path = layout.objectPath(bucket, key)
      await ensureFolder(dirname(path))
      let eTag: string | null = null
      const created = await createWhole({
        path,
        drafts: layout.drafts,
        async write(file) {
          await removeAbandonedDrafts(layout.drafts, (await file.stat()).mtimeMs)
          eTag = await writeObject(file, { bucket, key }, content)
        },
      })
      return created ? eTag : null
    },

    async remove(bucket, key) {
      const path = layout.objectPath(bucket, key)
      await ifThere(async () => {
        await unlink(path)
        await syncFolder(dirname(path))
      })
    },
  }
}

async function describedOrClosed(file: FileHandle): Promise<ObjectDescription> {
  try {
    return await readDescription(file)
  } catch (error) {
    await file.close()
    throw error
  }
}
