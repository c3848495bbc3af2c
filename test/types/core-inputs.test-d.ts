import { describe, expectTypeOf, it } from 'vitest'
import type {
  ConfirmInput,
  DbConfirmInput,
  DbReleaseInput,
  DbRemoveInput,
  DbReserveInput,
  FindPendingInput,
  FindPendingMultipartInput,
  ForgetLeftoverInput,
  ListByScopeInput,
  ListExpiredInput,
  ListLeftoversInput,
  ObjectReference,
  PurgeDeletedInput,
  PurgeExpiredInput,
  Quota,
  ReleaseInput,
  RemoveInput,
  ReserveInput,
  SetUploadIdInput,
  StorageObjectStore,
} from '@svc/db'

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

  it('accepts null and undefined for optional fields', () => {
    expectTypeOf<{ [Name in keyof Inputs]: Strict<Inputs[Name]> }[keyof Inputs]>().toBeNever()
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

describe('a store call', () => {
  it('can omit an input without required fields', () => {
    expectTypeOf<StorageObjectStore['listExpired']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['purgeExpired']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['listLeftovers']>().toBeCallableWith()
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
