import {
  createS3Server,
  db,
  memoryStorage,
  type Guard,
  type MultipartOptions,
  type ObjectStorage,
} from '@svc/db'
import type { MultipartStorage, PartsPage } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expectTypeOf, it } from 'vitest'

describe('the option multipart', () => {
  const good = {
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: () => null })],
  } as const

  it('is a boolean, or an object with a guard and the lifetime of URLs', () => {
    const guard: Guard = () => undefined
    createS3Server({ ...good, multipart: true })
    createS3Server({ ...good, multipart: false })
    createS3Server({ ...good, multipart: null })
    createS3Server({ ...good, multipart: { guard, expiresIn: 60 } })
    createS3Server({ ...good, multipart: { guard: null, expiresIn: undefined } })
    expectTypeOf<keyof MultipartOptions>().toEqualTypeOf<'guard' | 'expiresIn'>()
    // @ts-expect-error -- neither client nor application chooses the part size
    createS3Server({ ...good, multipart: { partSize: 1 } })
    // @ts-expect-error -- expiresIn must be a number
    createS3Server({ ...good, multipart: { expiresIn: '60' } })
    // @ts-expect-error -- not a string
    createS3Server({ ...good, multipart: 'off' })
  })
})

describe('a storage', () => {
  it('need not support multipart uploads', () => {
    expectTypeOf<ObjectStorage['multipart']>().toEqualTypeOf<MultipartStorage | undefined>()
    expectTypeOf<Omit<ObjectStorage, 'multipart'>>().toExtend<ObjectStorage>()
  })

  it('must return null for an unknown upload', () => {
    expectTypeOf<MultipartStorage['listParts']>().returns.resolves.toEqualTypeOf<PartsPage | null>()
    expectTypeOf<MultipartStorage['complete']>().returns.resolves.toEqualTypeOf<boolean>()
  })
})
