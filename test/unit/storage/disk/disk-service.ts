import { join } from 'node:path'
import { ManualClock } from '../../../conformance/clock.js'
import { diskStorage } from '@svc/db/disk'
import { bucketService } from '../object-storage-contract/bucket-service.js'
import { temporaryFolder } from '../temporary-folder.js'

/** A bucket service over a directory that outlives it. */
export function diskService(directory = join(temporaryFolder(), 'storage'), clock = new ManualClock()) {
  const open = (options: object) => diskStorage({ ...options, directory })
  return { directory, ...bucketService({ open }, {}, clock) }
}
