import { describe, expectTypeOf, it } from 'vitest'
import { memoryStorage, type ObjectStorage } from '@svc/db'
import { diskStorage, type DiskStorageOptions } from '@svc/db/disk'

describe('a storage that serves its own URLs', () => {
  it('is an ObjectStorage', () => {
    expectTypeOf(memoryStorage()).toEqualTypeOf<ObjectStorage>()
    expectTypeOf(diskStorage({ directory: 'bytes' })).toEqualTypeOf<ObjectStorage>()
  })

  it('takes null and undefined for an option that is left out', () => {
    const options: DiskStorageOptions = { directory: 'bytes', baseURL: null, now: null }
    diskStorage(options)
    diskStorage({ directory: 'bytes', baseURL: undefined, now: undefined })
  })

  it('on disk wants a directory', () => {
    // @ts-expect-error the directory is needed
    diskStorage({})
    // @ts-expect-error the options are needed
    diskStorage()
    // @ts-expect-error the directory is an option
    diskStorage('bytes')
    // @ts-expect-error a clock tells a Date
    diskStorage({ directory: 'bytes', now: () => Date.now() })
    // @ts-expect-error no such option
    diskStorage({ directory: 'bytes', mode: 0o600 })
  })
})
