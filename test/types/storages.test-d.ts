import { describe, expectTypeOf, it } from 'vitest'
import { memoryStorage, type ObjectStorage } from '@svc/db'
import type { SignDownloadInput, SignPartInput, SignUploadInput } from '@svc/db/adapter'
import { diskStorage, type DiskStorageOptions } from '@svc/db/disk'

describe('a storage that serves its own URLs', () => {
  it('is an ObjectStorage', () => {
    expectTypeOf(memoryStorage()).toEqualTypeOf<ObjectStorage>()
    expectTypeOf(diskStorage({ directory: 'bytes' })).toEqualTypeOf<ObjectStorage>()
  })

  it('accepts null and undefined for optional options', () => {
    const options: DiskStorageOptions = { directory: 'bytes', baseURL: null, now: null }
    diskStorage(options)
    diskStorage({ directory: 'bytes', baseURL: undefined, now: undefined })
  })

  it('can be used by callers that do not know when a reservation ends', () => {
    expectTypeOf<Omit<SignUploadInput, 'writableUntil'>>().toExtend<SignUploadInput>()
    expectTypeOf<Omit<SignPartInput, 'writableUntil'>>().toExtend<SignPartInput>()
    expectTypeOf<SignUploadInput['writableUntil']>().toEqualTypeOf<Date | null | undefined>()
    expectTypeOf<SignPartInput['writableUntil']>().toEqualTypeOf<Date | null | undefined>()
  })

  it('can be used by callers that leave the terms of a download to it', () => {
    type New = 'disposition' | 'cacheControl' | 'signedAt'
    expectTypeOf<Omit<SignDownloadInput, New>>().toExtend<SignDownloadInput>()
    expectTypeOf<SignDownloadInput['signedAt']>().toEqualTypeOf<Date | null | undefined>()
    expectTypeOf<SignDownloadInput['cacheControl']>().toEqualTypeOf<string | null | undefined>()
  })

  it('on disk requires a directory', () => {
    // @ts-expect-error the directory is required
    diskStorage({})
    // @ts-expect-error the options are required
    diskStorage()
    // @ts-expect-error the directory is an option, not the argument
    diskStorage('bytes')
    // @ts-expect-error a clock returns a Date
    diskStorage({ directory: 'bytes', now: () => Date.now() })
    // @ts-expect-error unknown option
    diskStorage({ directory: 'bytes', mode: 0o600 })
  })
})
