import { join } from 'node:path'
import { memoryStorage, type MemoryStorageOptions, type ObjectStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { temporaryFolder } from '../temporary-folder.js'

/** A storage that serves its own URLs; each has what every one of these tests asks for. */
export interface StorageKind {
  readonly name: string
  /** A new and empty one, for the test that runs. */
  open(options: MemoryStorageOptions): ObjectStorage
}

export const storages: readonly StorageKind[] = [
  { name: 'memoryStorage', open: (options) => memoryStorage(options) },
  {
    name: 'diskStorage',
    open: (options) => diskStorage({ ...options, directory: join(temporaryFolder(), 'not', 'yet there') }),
  },
]
