import { describe, expectTypeOf, it } from 'vitest'
import type {
  DbClientObject,
  Leftover,
  ObjectPage,
  ObjectStatus,
  ScopeUsage,
  StorageObject,
  StorageObjectStore,
  UsageDifference,
} from '@svc/db'

describe('a record', () => {
  it('has every field, with null instead of undefined if absent', () => {
    expectTypeOf<StorageObject>().toEqualTypeOf<{
      readonly id: string
      readonly attemptId: string
      readonly scope: string
      readonly bucket: string
      readonly key: string
      readonly status: 'pending' | 'active' | 'deleted'
      readonly route: string | null
      readonly filename: string | null
      readonly contentType: string | null
      readonly size: number | null
      readonly declaredSize: number | null
      readonly eTag: string | null
      readonly metadata: Readonly<Record<string, string>> | null
      readonly storageKey: string | null
      readonly uploadId: string | null
      readonly expiresAt: Date | null
      readonly createdAt: Date
      readonly updatedAt: Date
      readonly confirmedAt: Date | null
      readonly deletedAt: Date | null
    }>()
  })

  it('is readonly', () => {
    const row = {} as StorageObject
    // @ts-expect-error readonly
    row.status = 'deleted'
    // @ts-expect-error readonly
    row.metadata!['a'] = 'b'
  })

  it('for clients has only client fields, some of them optional', () => {
    expectTypeOf<DbClientObject>().toEqualTypeOf<{
      readonly id: string
      readonly bucket: string
      readonly key: string
      readonly status: ObjectStatus
      readonly createdAt: string
      readonly filename?: string
      readonly contentType?: string
      readonly size?: number
      readonly declaredSize?: number
      readonly route?: string
    }>()
    const known = { id: 'id', bucket: 'photos', key: 'a.png', status: 'active', createdAt: '' } as const
    expectTypeOf(known).toExtend<DbClientObject>()
    // @ts-expect-error absent fields are omitted, not null
    const unknown: DbClientObject = { ...known, size: undefined }
    // @ts-expect-error clients never see the scope
    const internal: DbClientObject = { ...known, scope: 'user:1' }
    expectTypeOf([unknown, internal]).toExtend<DbClientObject[]>()
  })

  it('of a leftover has its dates', () => {
    expectTypeOf<Leftover>().toEqualTypeOf<{
      readonly attemptId: string
      readonly scope: string | null
      readonly bucket: string
      readonly key: string
      readonly storageKey: string | null
      readonly uploadId: string | null
      readonly since: Date
      readonly writableUntil: Date
      readonly dueAt: Date | null
    }>()
  })
})

describe('a result of the store', () => {
  type Answer<Method extends keyof StorageObjectStore> = Awaited<ReturnType<StorageObjectStore[Method]>>

  it('is a page with an optional cursor', () => {
    expectTypeOf<Answer<'listByScope'>>().toEqualTypeOf<ObjectPage>()
    expectTypeOf<ObjectPage<number>>().toEqualTypeOf<{
      readonly objects: number[]
      readonly nextCursor?: string
    }>()
  })

  it('is a record, or null if there may be none', () => {
    expectTypeOf<
      Answer<'find' | 'findActive' | 'findPending' | 'findPendingMultipart'>
    >().toEqualTypeOf<StorageObject | null>()
    expectTypeOf<Answer<'release' | 'remove'>>().toEqualTypeOf<StorageObject | null>()
    expectTypeOf<Answer<'reserve' | 'confirm' | 'setUploadId'>>().toEqualTypeOf<StorageObject>()
    expectTypeOf<Answer<'listExpired' | 'purgeExpired'>>().toEqualTypeOf<StorageObject[]>()
  })

  it('matches the contract for the other calls', () => {
    expectTypeOf<Answer<'countByScope' | 'purgeDeleted'>>().toEqualTypeOf<number>()
    expectTypeOf<Answer<'getScopeUsage'>>().toEqualTypeOf<ScopeUsage>()
    expectTypeOf<ScopeUsage>().toEqualTypeOf<{
      readonly bytes: number
      readonly files: number
      readonly reservedBytes: number
      readonly reservedFiles: number
    }>()
    expectTypeOf<Answer<'listLeftovers'>>().toEqualTypeOf<Leftover[]>()
    expectTypeOf<Answer<'forgetLeftover'>>().toEqualTypeOf<boolean>()
    expectTypeOf<Answer<'migrate'>>().toEqualTypeOf<{ readonly from: number; readonly to: number }>()
    expectTypeOf<Answer<'verify'>>().toEqualTypeOf<string[]>()
    expectTypeOf<Answer<'checkUsage' | 'repairUsage'>>().toEqualTypeOf<UsageDifference[]>()
    expectTypeOf<Answer<'ping' | 'close'>>().toEqualTypeOf<void>()
  })
})
