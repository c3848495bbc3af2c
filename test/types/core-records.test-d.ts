import { describe, expectTypeOf, it } from 'vitest'
import type {
  AdoptResult,
  DbClientObject,
  EventCounts,
  EventPage,
  Leftover,
  ListedEvent,
  ObjectMetadata,
  ObjectPage,
  ObjectStatus,
  ScopeSummary,
  ScopeUsage,
  StorageObject,
  StorageObjectStore,
  StoredEvent,
  StoredItem,
  UsageDifference,
} from '@svc/db'
import type { RecordedChange, StoredEventType } from '@svc/db/adapter'

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
      readonly temporaryUntil: Date | null
      readonly arrivedAt: Date | null
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
      readonly metadata?: ObjectMetadata
      readonly temporaryUntil?: string
      readonly checking?: true
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
      readonly readableUntil: Date | null
    }>()
  })
})

describe('an event', () => {
  interface Recorded {
    readonly id: string
    readonly type: StoredEventType
    readonly object: StorageObject
    readonly previous: StorageObject | null
    readonly createdAt: Date
    readonly attempts: number
  }
  type PreviousOf<Event extends RecordedChange, Type> = Extract<Event, { readonly type: Type }>['previous']

  it('has its change, and the claim if it was claimed', () => {
    expectTypeOf<StoredEventType>().toEqualTypeOf<
      'activated' | 'updated' | 'transferred' | 'deleted' | 'arrived' | 'rejected'
    >()
    expectTypeOf<Omit<StoredEvent, never>>().toEqualTypeOf<
      Omit<Recorded & { readonly claim: string; readonly hasNext: boolean }, never>
    >()
    expectTypeOf<Omit<ListedEvent, never>>().toEqualTypeOf<
      Omit<Recorded & { readonly dueAt: Date; readonly claimedUntil: Date | null }, never>
    >()
  })

  it('has a previous row that follows from its type', () => {
    type Events = RecordedChange | StoredEvent | ListedEvent
    expectTypeOf<PreviousOf<Events, 'activated' | 'arrived'>>().toEqualTypeOf<StorageObject | null>()
    expectTypeOf<PreviousOf<Events, 'updated' | 'transferred'>>().toEqualTypeOf<StorageObject>()
    expectTypeOf<PreviousOf<Events, 'deleted' | 'rejected'>>().toEqualTypeOf<null>()
    expectTypeOf<Extract<Events, { readonly type: 'rejected' }>['reason']>().toEqualTypeOf<string | null>()
    const event = {} as StoredEvent
    if (event.type === 'transferred') expectTypeOf(event.previous.scope).toBeString()
    const { type, previous } = event
    if (type === 'updated') expectTypeOf(previous.filename).toEqualTypeOf<string | null>()
    const object = {} as StorageObject
    // @ts-expect-error a deleted object has no previous row
    const deleted: RecordedChange = { type: 'deleted', object, previous: object }
    // @ts-expect-error an update has a previous row
    const updated: RecordedChange = { type: 'updated', object, previous: null }
    expectTypeOf([deleted, updated]).toExtend<RecordedChange[]>()
  })

  it('is readonly', () => {
    const event = {} as StoredEvent
    // @ts-expect-error readonly
    event.type = 'deleted'
    // @ts-expect-error readonly
    event.object.key = 'a'
  })
})

describe('what names bytes', () => {
  it('is either an object or a leftover', () => {
    const item = {} as StoredItem
    if (item.object) {
      expectTypeOf(item.object).toEqualTypeOf<StorageObject>()
      expectTypeOf(item.leftover).toEqualTypeOf<undefined>()
    } else {
      expectTypeOf(item.leftover).toEqualTypeOf<Leftover>()
    }
    expectTypeOf(item.storageKey).toBeString()
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
    expectTypeOf<
      Answer<'release' | 'remove' | 'update' | 'transfer' | 'findById'>
    >().toEqualTypeOf<StorageObject | null>()
    expectTypeOf<Answer<'adopt'>>().toEqualTypeOf<AdoptResult>()
    expectTypeOf<AdoptResult>().toEqualTypeOf<{
      readonly object: StorageObject | null
      readonly known: boolean
    }>()
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
    expectTypeOf<Answer<'listScopes'>>().toEqualTypeOf<ScopeSummary[]>()
    expectTypeOf<ScopeSummary>().toEqualTypeOf<{
      readonly scope: string
      readonly usage: ScopeUsage
      readonly counts: Readonly<Record<ObjectStatus, number>>
    }>()
    expectTypeOf<Answer<'listStored'>>().toEqualTypeOf<StoredItem[]>()
    expectTypeOf<Answer<'claimEvents'>>().toEqualTypeOf<StoredEvent[]>()
    expectTypeOf<Answer<'settleEvents' | 'extendClaims'>>().toEqualTypeOf<string[]>()
    expectTypeOf<Answer<'listEvents'>>().toEqualTypeOf<EventPage>()
    expectTypeOf<EventPage>().toEqualTypeOf<{ readonly items: ListedEvent[]; readonly next: string | null }>()
    expectTypeOf<Answer<'countEvents'>>().toEqualTypeOf<EventCounts>()
    expectTypeOf<EventCounts>().toEqualTypeOf<{
      readonly waiting: number
      readonly claimed: number
      readonly retrying: number
    }>()
    expectTypeOf<Answer<'listLeftovers'>>().toEqualTypeOf<Leftover[]>()
    expectTypeOf<Answer<'forgetLeftover'>>().toEqualTypeOf<boolean>()
    expectTypeOf<Answer<'migrate'>>().toEqualTypeOf<{ readonly from: number; readonly to: number }>()
    expectTypeOf<Answer<'verify'>>().toEqualTypeOf<string[]>()
    expectTypeOf<Answer<'checkUsage' | 'repairUsage'>>().toEqualTypeOf<UsageDifference[]>()
    expectTypeOf<Answer<'ping' | 'close'>>().toEqualTypeOf<void>()
  })
})

describe('an iteration', () => {
  it('yields records', () => {
    type Rows = ReturnType<StorageObjectStore['iterateByScope']>
    expectTypeOf<Rows>().toEqualTypeOf<AsyncIterable<StorageObject>>()
  })
})
