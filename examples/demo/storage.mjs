import { join } from 'node:path'
import { diskStorage } from '@svc/db/disk'

/** Where the demo keeps the bytes: in files below the given folder, signed URLs and all. */
export function openStorage(folder) {
  const directory = join(folder, 'bytes')
  return { name: `files in ${directory}`, storage: diskStorage({ directory }) }
}
