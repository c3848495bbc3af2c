import { memoryStorage } from '@svc/db'
import { diskStorage } from '@svc/db/disk'
import { describe } from 'vitest'
import { temporaryFolder } from '../../unit/storage/temporary-folder.js'
import { itRemovesEndedBytes } from './ended-bytes.js'

describe('cleanUp with memoryStorage', () => {
  itRemovesEndedBytes({ storageOf: (now) => memoryStorage({ now }) })
})

describe('cleanUp with diskStorage', () => {
  itRemovesEndedBytes({ storageOf: (now) => diskStorage({ directory: temporaryFolder(), now }) })
})
