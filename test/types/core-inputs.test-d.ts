import { describe, expectTypeOf, it } from 'vitest'
import type {
  AdoptInput,
  ClaimEventsInput,
  ConfirmInput,
  DbOptions,
  DbPlugin,
  FindByIdInput,
  ListByScopeInput,
  ListEventsInput,
  ListExpiredInput,
  ListLeftoversInput,
  ListScopesInput,
  ObjectReference,
  PurgeDeletedInput,
  PurgeExpiredInput,
  Quota,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SettleEventInput,
  StorageObject,
  StorageObjectStore,
  TransferInput,
  UpdateInput,
} from '@svc/db'
import type {
  DbConfirmInput,
  DbReleaseInput,
  DbRemoveInput,
  DbReserveInput,
  DeferLeftoverInput,
  ExtendClaimInput,
  ExtendClaimsOptions,
  FindPendingInput,
  FindPendingMultipartInput,
  ForgetLeftoverInput,
  ListStoredInput,
  SetUploadIdInput,
} from '@svc/db/adapter'

declare const store: StorageObjectStore

const reference = { bucket: 'photos', key: 'a.png' } as const
const reservation = { ...reference, scope: 'user:1', declaredSize: 5, expiresAt: new Date() }

/** The optional fields. */
type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]

/** The optional fields that don't accept both `null` and `undefined`. */
type Strict<T> = {
  [K in OptionalKeys<T>]: { [_ in K]: null } | { [_ in K]: undefined } extends Pick<T, K> ? never : K
}[OptionalKeys<T>]

type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false

/** The fields that are not readonly. */
type Writable<T> = {
  [K in keyof T]-?: Same<Pick<T, K>, Readonly<Pick<T, K>>> extends true ? never : K
}[keyof T]

interface Inputs {
  listByScope: ListByScopeInput
  find: ObjectReference
  findPending: FindPendingInput
  findPendingMultipart: FindPendingMultipartInput
  reserve: ReserveInput
  confirm: ConfirmInput
  setUploadId: SetUploadIdInput
  release: ReleaseInput
  remove: RemoveInput
  update: UpdateInput
  transfer: TransferInput
  adopt: AdoptInput
  findById: FindByIdInput
  listScopes: ListScopesInput
  listStored: ListStoredInput
  claimEvents: ClaimEventsInput
  settleEvents: SettleEventInput
  extendClaims: ExtendClaimInput
  extendClaimsOptions: ExtendClaimsOptions
  listEvents: ListEventsInput
  deferLeftover: DeferLeftoverInput
  listExpired: ListExpiredInput
  purgeExpired: PurgeExpiredInput
  listLeftovers: ListLeftoversInput
  forgetLeftover: ForgetLeftoverInput
  purgeDeleted: PurgeDeletedInput
  quota: Quota
  dbReserve: DbReserveInput
  dbConfirm: DbConfirmInput
  dbRelease: DbReleaseInput
  dbRemove: DbRemoveInput
}

describe('every input', () => {
  it('is readonly', () => {
    expectTypeOf<{ [Name in keyof Inputs]: Writable<Inputs[Name]> }[keyof Inputs]>().toBeNever()
    expectTypeOf<Writable<{ readonly a: 1; b: 2; c?: 3 }>>().toEqualTypeOf<'b' | 'c'>()
  })

  it('accepts null and undefined for optional fields, except for the prefix of listScopes', () => {
    expectTypeOf<{ [Name in keyof Inputs]: Strict<Inputs[Name]> }[keyof Inputs]>().toEqualTypeOf<'prefix'>()
    expectTypeOf<Strict<{ a?: 1; b?: 2 | null; c?: 3 | null | undefined; d: 4 }>>().toEqualTypeOf<'a' | 'b'>()
  })

  it('requires only the required fields of the contract', () => {
    expectTypeOf<Exclude<keyof ListByScopeInput, OptionalKeys<ListByScopeInput>>>().toEqualTypeOf<'scope'>()
    expectTypeOf<Exclude<keyof ReserveInput, OptionalKeys<ReserveInput>>>().toEqualTypeOf<
      'scope' | 'bucket' | 'key' | 'declaredSize' | 'expiresAt'
    >()
    expectTypeOf<Exclude<keyof ConfirmInput, OptionalKeys<ConfirmInput>>>().toEqualTypeOf<
      'bucket' | 'key' | 'size'
    >()
    expectTypeOf<Exclude<keyof ReleaseInput, OptionalKeys<ReleaseInput>>>().toEqualTypeOf<'bucket' | 'key'>()
    expectTypeOf<Exclude<keyof RemoveInput, OptionalKeys<RemoveInput>>>().toEqualTypeOf<'bucket' | 'key'>()
    expectTypeOf<Exclude<keyof TransferInput, OptionalKeys<TransferInput>>>().toEqualTypeOf<
      'bucket' | 'key' | 'from' | 'to'
    >()
    expectTypeOf<Exclude<keyof AdoptInput, OptionalKeys<AdoptInput>>>().toEqualTypeOf<
      'bucket' | 'key' | 'scope' | 'storageKey' | 'size' | 'createdAt'
    >()
    expectTypeOf<Exclude<keyof FindByIdInput, OptionalKeys<FindByIdInput>>>().toEqualTypeOf<'id'>()
    expectTypeOf<Exclude<keyof ListStoredInput, OptionalKeys<ListStoredInput>>>().toEqualTypeOf<'bucket'>()
    expectTypeOf<OptionalKeys<ClaimEventsInput>>().toEqualTypeOf<
      'limit' | 'claimSeconds' | 'bucket' | 'key' | 'attempted' | 'lastScopes'
    >()
    expectTypeOf<Exclude<keyof SettleEventInput, OptionalKeys<SettleEventInput>>>().toEqualTypeOf<
      'id' | 'claim'
    >()
    expectTypeOf<Exclude<keyof DbReserveInput, OptionalKeys<DbReserveInput>>>().toEqualTypeOf<
      'key' | 'declaredSize'
    >()
    expectTypeOf<Exclude<keyof DbConfirmInput, OptionalKeys<DbConfirmInput>>>().toEqualTypeOf<
      'key' | 'size'
    >()
    expectTypeOf<Exclude<keyof DbReleaseInput, OptionalKeys<DbReleaseInput>>>().toEqualTypeOf<'key'>()
    expectTypeOf<OptionalKeys<ListExpiredInput>>().toEqualTypeOf<'scope' | 'before' | 'limit' | 'after'>()
  })
})

describe('an update', () => {
  it('sets at least one field, which null clears', async () => {
    await store.update({ ...reference, filename: 'a.png' })
    await store.update({ ...reference, contentType: null })
    await store.update({ ...reference, metadata: null, filename: undefined })
    await store.update({ ...reference, filename: null, contentType: 'image/png', metadata: { a: 'b' } })
    await store.update({ ...reference, scope: null, attemptId: undefined, metadata: {} })
    await store.update({ ...reference, setMetadata: { scan: 'clean', shared: null }, filename: 'a.png' })
    // @ts-expect-error nothing to set
    await store.update(reference)
    // @ts-expect-error nothing to set
    await store.update({ ...reference, scope: 'user:1', attemptId: 'id' })
  })

  it('accepts the fields of a patch that may all be undefined, if it names them', async () => {
    const patch: { filename?: string | undefined; metadata?: Record<string, string> | undefined } = {}
    const { filename, metadata } = patch
    await store.update({ ...reference, filename, metadata })
    await store.update({ ...reference, contentType: undefined, ...patch })
    // @ts-expect-error a spread may lack all of them
    await store.update({ ...reference, ...patch })
  })

  it('refuses other fields of the object', async () => {
    // @ts-expect-error the size is that of the bytes
    await store.update({ ...reference, filename: 'a', size: 5 })
    // @ts-expect-error transfer changes the owner
    await store.update({ ...reference, filename: 'a', to: 'user:2' })
    // @ts-expect-error metadata values are strings
    await store.update({ ...reference, metadata: { width: 5 } })
    // @ts-expect-error -- and so do names that are set
    await store.update({ ...reference, setMetadata: { width: 5 } })
  })
})

describe('a store call', () => {
  it('can omit an input without required fields', () => {
    expectTypeOf<StorageObjectStore['listExpired']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['purgeExpired']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['listLeftovers']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['listScopes']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['claimEvents']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['listEvents']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['extendClaims']>().toBeCallableWith([])
    expectTypeOf<StorageObjectStore['checkUsage']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['repairUsage']>().toBeCallableWith(null)
    expectTypeOf<StorageObjectStore['countByScope']>().toBeCallableWith('user:1')
    expectTypeOf<StorageObjectStore['countByScope']>().toBeCallableWith('user:1', null)
  })

  it('accepts frozen inputs', () => {
    const frozen = Object.freeze({
      ...reservation,
      metadata: Object.freeze({ a: 'b' }),
      quota: Object.freeze({}),
    })
    expectTypeOf<StorageObjectStore['reserve']>().toBeCallableWith(frozen)
  })

  it('accepts the last item of a page as the position of the next', async () => {
    const expired = await store.listExpired()
    await store.listExpired({ after: expired.at(-1) })
    const leftovers = await store.listLeftovers()
    await store.listLeftovers({ after: leftovers.at(-1) })
  })

  it('accepts claimed events as they are, and a page as the position of the next', async () => {
    const events = await store.claimEvents()
    await store.extendClaims(events, { claimSeconds: 5 })
    await store.settleEvents(events.map((event) => ({ ...event, retryAt: new Date() })))
    const [event] = events
    await store.settleEvents([event!])
    await store.settleEvents(events)
    const { next } = await store.listEvents()
    await store.listEvents({ after: next })
    const [scope] = await store.listScopes()
    await store.listScopes({ after: scope?.scope })
    const stored = await store.listStored({ bucket: 'photos' })
    await store.listStored({ bucket: 'photos', after: stored.at(-1)?.storageKey })
  })

  it('refuses unknown statuses, modes and fields', async () => {
    // @ts-expect-error unknown status
    await store.listByScope({ scope: 'user:1', status: 'all' })
    // @ts-expect-error unknown status
    await store.countByScope('user:1', 'Active')
    // @ts-expect-error unknown mode
    await store.remove({ ...reference, mode: 'purge' })
    // @ts-expect-error misspelt field
    await store.reserve({ ...reservation, filenam: 'a.png' })
    // @ts-expect-error misspelt filter
    await store.find({ ...reference, scopes: 'user:1' })
    // @ts-expect-error misspelt filter
    await store.purgeDeleted({ before: new Date(), scopes: 'user:1' })
    // @ts-expect-error both owners are required
    await store.transfer({ ...reference, to: 'user:2' })
    // @ts-expect-error the storage key is required
    await store.adopt({ ...reference, scope: 'user:1', size: 5, createdAt: new Date() })
    // @ts-expect-error the claim is required
    await store.settleEvents([{ id: 'event' }])
    // @ts-expect-error misspelt field
    await store.settleEvents([{ id: 'event', claim: 'claim', retryIn: 5 }])
    const [event] = await store.claimEvents()
    // @ts-expect-error misspelt field beside those of a claimed event
    await store.settleEvents([{ ...event!, retryAfter: new Date() }])
    // @ts-expect-error misspelt field of an entry that a callback returns
    await store.settleEvents([event!].map((each): SettleEventInput => ({ ...each, retryat: new Date() })))
    // @ts-expect-error the position of a list by date
    await store.listLeftovers({ dueBefore: new Date(), after: { since: new Date(), attemptId: 'id' } })
  })

  it('refuses values of another type', async () => {
    // @ts-expect-error a date is a Date
    await store.reserve({ ...reservation, expiresAt: '2030-01-01' })
    // @ts-expect-error metadata values are strings
    await store.reserve({ ...reservation, metadata: { width: 5 } })
    // @ts-expect-error metadata values are strings
    await store.reserve({ ...reservation, metadata: { width: null } })
    // @ts-expect-error a size is a number
    await store.confirm({ ...reference, size: '5' })
    // @ts-expect-error the size is required
    await store.confirm(reference)
    // @ts-expect-error a limit is a number
    await store.listByScope({ scope: 'user:1', limit: '5' })
    // @ts-expect-error a scope is a string
    await store.getScopeUsage(null)
  })
})

describe('what owners may change', () => {
  const option = (update: DbOptions['update']) => update

  it('is a list of known fields', () => {
    option(true)
    option({ fields: ['filename', 'metadata', 'contentType'], guard: () => undefined })
    // @ts-expect-error sizes are verified
    option({ fields: ['size'] })
    // @ts-expect-error misspelt
    option({ field: ['filename'] })
  })

  it('is an object and its changes for a route of your own', async () => {
    const plugin = {} as DbPlugin
    const request = {} as Request
    await plugin.update(request, { id: 'id', setMetadata: { album: null } })
    await plugin.update(request, { ...({} as StorageObject), filename: 'a.png' })
    // @ts-expect-error the scope is the caller's
    await plugin.update(request, { id: 'id', to: 'user:2' })
  })
})
