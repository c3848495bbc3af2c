import { resolve } from 'node:path'
import type { ObjectStorage } from '../../core/object-storage.js'
import { checkSelfServingOptions, type SelfServingOptions } from '../signed-urls/self-serving-options.js'
import { createSelfServingStorage } from '../signed-urls/self-serving-storage.js'
import { diskLayout } from './disk-layout.js'
import { createDiskPartShelf } from './disk-part-shelf.js'
import { createDiskShelf } from './disk-shelf.js'
import { readOrCreateSecret } from './signing-secret.js'

export interface DiskStorageOptions extends SelfServingOptions {
  /**
   * Where everything is kept, the secret that signs the URLs included. Created when it is first needed; relative to the
   * working directory of this moment. Nothing else should write there.
   */
  readonly directory: string
}

/**
 * A bucket service over files, for development. Every bucket exists. Its signed URLs lead to the server that uses it;
 * they and the bytes survive a restart. Several processes may share a directory: an upload URL still writes only once.
 *
 * Every file is its owner's alone (mode 0600). Bytes are streamed in both directions. An upload is on the disk before it
 * is answered, and none can be seen by half, wherever a process or the machine stops. What a process that was killed had
 * begun is removed by an upload a day later. Completing an upload in parts copies them, which takes their room twice for
 * that time.
 *
 * The file system must have hard links, which exFAT, for one, has not. What it refuses (no space, no right, a directory
 * that is gone) rejects the call, so that a server answers `STORAGE_UNAVAILABLE`; a directory that was removed while it
 * was in use is never taken for an empty one.
 *
 * @throws TypeError for a `directory` that is no path, a `baseURL` that is no absolute http(s) URL, and a `now` that is no
 * function.
 */
export function diskStorage(options: DiskStorageOptions): ObjectStorage {
  const layout = diskLayout(resolve(checkDirectory(options)))
  const checked = checkSelfServingOptions('diskStorage', options)
  const secret = () => readOrCreateSecret(layout)
  const shelf = createDiskShelf(layout)
  const partShelf = createDiskPartShelf(layout, shelf)
  return createSelfServingStorage({ shelf, partShelf, secret }, checked)
}

function checkDirectory(options: unknown): string {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError('diskStorage: options with a directory are needed.')
  }
  const directory: unknown = 'directory' in options ? options.directory : undefined
  // Node refuses a NUL character too, but only in each of the calls to come.
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0')) {
    throw new TypeError(
      `diskStorage: directory must be the path of a directory, not ${JSON.stringify(directory)}.`,
    )
  }
  return directory
}
