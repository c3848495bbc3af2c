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

const place = { bucket: 'photos', key: 'a.png' } as const
const reservation = { ...place, scope: 'user:1', declaredSize: 5, expiresAt: new Date() }

/** The fields that may be left out. */
type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]

/** The optional fields that can not be given as `null` or as `undefined`. */
type Strict<T> = {
  [K in OptionalKeys<T>]: { [_ in K]: null } | { [_ in K]: undefined } extends Pick<T, K> ? never : K
}[OptionalKeys<T>]

type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false

/** The fields that may be written to. */
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

  it('takes null and undefined for what may be left out', () => {
    expectTypeOf<{ [Name in keyof Inputs]: Strict<Inputs[Name]> }[keyof Inputs]>().toBeNever()
    expectTypeOf<Strict<{ a?: 1; b?: 2 | null; c?: 3 | null | undefined; d: 4 }>>().toEqualTypeOf<'a' | 'b'>()
  })

  it('needs no more than what the contract needs', () => {
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

describe('a call of the store', () => {
  it('may leave out an input without required fields', () => {
    expectTypeOf<StorageObjectStore['listExpired']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['purgeExpired']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['listLeftovers']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['checkUsage']>().toBeCallableWith()
    expectTypeOf<StorageObjectStore['repairUsage']>().toBeCallableWith(null)
    expectTypeOf<StorageObjectStore['countByScope']>().toBeCallableWith('user:1')
    expectTypeOf<StorageObjectStore['countByScope']>().toBeCallableWith('user:1', null)
  })

  it('takes what is frozen', () => {
    const frozen = Object.freeze({
      ...reservation,
      metadata: Object.freeze({ a: 'b' }),
      quota: Object.freeze({}),
    })
    expectTypeOf<StorageObjectStore['reserve']>().toBeCallableWith(frozen)
  })

  it('takes the last item of a page for the position of the next', async () => {
    const expired = await store.listExpired()
    await store.listExpired({ after: expired.at(-1) })
    const leftovers = await store.listLeftovers()
    await store.listLeftovers({ after: leftovers.at(-1) })
  })

  it('takes no status, mode or field that is unknown', async () => {
    // @ts-expect-error no such status
    await store.listByScope({ scope: 'user:1', status: 'all' })
    // @ts-expect-error no such status
    await store.countByScope('user:1', 'Active')
    // @ts-expect-error no such mode
    await store.remove({ ...place, mode: 'purge' })
    // @ts-expect-error a misspelt field
    await store.reserve({ ...reservation, filenam: 'a.png' })
    // @ts-expect-error no scope parameter
    await store.find({ ...place, scope: 'user:1' })
  })

  it('takes no value of another type', async () => {
    // @ts-expect-error a date is a Date
    await store.reserve({ ...reservation, expiresAt: '2030-01-01' })
    // @ts-expect-error metadata values are strings only
    await store.reserve({ ...reservation, metadata: { width: 5 } })
    // @ts-expect-error metadata values are strings only
    await store.reserve({ ...reservation, metadata: { width: null } })
    // @ts-expect-error a size is a number
    await store.confirm({ ...place, size: '5' })
    // @ts-expect-error a size is needed
    await store.confirm(place)
    // @ts-expect-error a limit is a number
    await store.listByScope({ scope: 'user:1', limit: '5' })
    // @ts-expect-error a scope is a string
    await store.getScopeUsage(null)
  })
})
