import { createHash } from 'node:crypto'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { onceSuccessful } from '../local/storage.js'
import { ensureFolder, ensureFolderAndParents } from './file-system.js'

export type DiskLayout = ReturnType<typeof diskLayout>

export function diskLayout(directory: string) {
  const objects = join(directory, 'objects')
  const uploads = join(directory, 'uploads')
  const drafts = join(directory, 'drafts')
  const removed = join(directory, 'removed')

  return {
    /** All objects, in 256 subfolders. */
    objects,
    /** All open multipart uploads, in 256 subfolders. */
    uploads,
    /** Files that are being written. Here and not in a temporary folder, because hard links can't span file systems. */
    drafts,
    /** A file for each removed object that can't be created yet, in 256 subfolders. It contains until when. */
    removed,
    secret: join(directory, 'signing-secret'),

    /** Creates the folders on first use, and only then: if they are deleted later, calls fail instead of starting over. */
    prepare: onceSuccessful(async () => {
      await ensureFolderAndParents(directory)
      await ensureFolder(objects)
      await ensureFolder(uploads)
      await ensureFolder(drafts)
      await ensureFolder(removed)
    }),

    objectPath(bucket: string, key: string): string {
      const name = fileName(bucket, key)
      return join(objects, name.slice(0, 2), name)
    },

    removedPath(bucket: string, key: string): string {
      const name = fileName(bucket, key)
      return join(removed, name.slice(0, 2), name)
    },

    objectPaths: () => filesIn(objects),
    removedPaths: () => filesIn(removed),

    /** Returns the folder of all uploads to a key, and the prefix of their file names. */
    uploadFiles(bucket: string, key: string) {
      const name = fileName(bucket, key)
      return { folder: join(uploads, name.slice(0, 2)), prefix: `${name}.` }
    },
  }
}

/** What operating systems put into folders has other names. */
const FILE_NAME = /^[0-9a-f]{64}$/

/** Yields the paths of our files in the subfolders of a folder. */
async function* filesIn(parent: string): AsyncGenerator<string> {
  for await (const folder of await opendir(parent)) {
    if (!folder.isDirectory()) continue
    const path = join(parent, folder.name)
    for await (const file of await opendir(path)) {
      if (FILE_NAME.test(file.name)) yield join(path, file.name)
    }
  }
}

/** Returns a file name for every file system. Hashes rule out path traversal, and collisions of names that differ only in case. */
function fileName(bucket: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([bucket, key]))
    .digest('hex')
}
