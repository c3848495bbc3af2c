import { join } from 'node:path'
import { memoryStorage, type MemoryStorageOptions, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { temporaryFolder } from '../temporary-folder.js'

/** A storage that serves its own URLs. All of these tests run for each of them. */
export interface StorageKind {
  readonly name: string
  /** Creates an empty storage for the running test. */
  open(options: MemoryStorageOptions): ObjectStorage
}

export const storages: readonly StorageKind[] = [
  { name: 'memoryStorage', open: (options) => memoryStorage(options) },
  {
    name: 'diskStorage',
    open: (options) => diskStorage({ ...options, directory: join(temporaryFolder(), 'not', 'yet there') }),
  },
]
