import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { keptOnceMade } from '../signed-urls/kept-once-made.js'
import { ensureFolder, ensureFolderAndParents } from './durable-folder.js'

/** Where things lie in the directory of a storage. */
export interface DiskLayout {
  /** Every object, in 256 folders. */
  readonly objects: string
  /** Every upload in parts that has not ended, in 256 folders. */
  readonly uploads: string
  /** Files that are still being written. In the same directory, because a link can't leave its file system. */
  readonly drafts: string
  readonly secret: string
  objectPath(bucket: string, key: string): string
  /** Where the files of all uploads at a place lie, and how their names begin. */
  uploadFiles(bucket: string, key: string): { readonly folder: string; readonly prefix: string }
  /**
   * Creates what is missing, once: a directory that vanishes later is a failure, not a reason to begin again with an
   * empty one.
   */
  readonly prepare: () => Promise<void>
}

export function diskLayout(directory: string): DiskLayout {
  const objects = join(directory, 'objects')
  const uploads = join(directory, 'uploads')
  const drafts = join(directory, 'drafts')
  return {
    objects,
    uploads,
    drafts,
    secret: join(directory, 'signing-secret'),
    objectPath(bucket, key) {
      const name = fileName(bucket, key)
      return join(objects, name.slice(0, 2), name)
    },
    uploadFiles(bucket, key) {
      const name = fileName(bucket, key)
      return { folder: join(uploads, name.slice(0, 2)), prefix: `${name}.` }
    },
    prepare: keptOnceMade(async () => {
      await ensureFolderAndParents(directory)
      await ensureFolder(objects)
      await ensureFolder(uploads)
      await ensureFolder(drafts)
    }),
  }
}

/**
 * A name that every file system takes, of any bucket and key: whatever they contain, nothing can leave the directory, and
 * names that differ only in case stay apart. JSON keeps apart where the bucket ends and the key begins.
 */
function fileName(bucket: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([bucket, key]))
    .digest('hex')
}
