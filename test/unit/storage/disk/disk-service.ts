import { join } from 'node:path'
import { ManualClock } from '../../../conformance/clock.js'
import { diskStorage } from '@svc/db/disk'
import { bucketService } from '../object-storage-contract/bucket-service.js'
import { temporaryFolder } from '../temporary-folder.js'

/** Creates a storage and its handler over a directory. */
export function diskService(directory = join(temporaryFolder(), 'storage'), clock = new ManualClock()) {
  const open = (options: object) => diskStorage({ ...options, directory })
  return { directory, ...bucketService({ open }, {}, clock) }
}
