import { describe, expectTypeOf, it } from 'vitest'
import type * as library from '@svc/db'
import type * as adapter from '@svc/db/adapter'
import type * as memory from '@svc/db/memory'

type IsAny<T> = 0 extends 1 & T ? true : false

/** Types that aren't searched: primitives and types of the platform. */
type Leaf =
  | string
  | number
  | boolean
  | bigint
  | symbol
  | null
  | undefined
  | AbortSignal
  | Date
  | Request
  | Response
  | ReadableStream
  | Uint8Array

/** Finds each `any` in a type, and returns the path to it. `Fuel` limits the depth. `never`: none found. */
type AnyIn<T, Path extends string, Fuel extends readonly unknown[] = []> =
  IsAny<T> extends true
    ? Path
    : Fuel['length'] extends 8
      ? never
      : T extends Leaf
        ? never
        : T extends Promise<infer Value>
          ? AnyIn<Value, `${Path}.then`, [...Fuel, 0]>
          : T extends (...args: infer Args) => infer Result
            ? AnyInEach<Args, `${Path}()`, [...Fuel, 0]> | AnyIn<Result, `${Path}=>`, [...Fuel, 0]>
            : T extends abstract new (...args: infer Args) => infer Instance
              ? AnyInEach<Args, `new ${Path}`, [...Fuel, 0]> | AnyIn<Instance, `${Path}#`, [...Fuel, 0]>
              : T extends readonly (infer Item)[]
                ? AnyIn<Item, `${Path}[]`, [...Fuel, 0]>
                : T extends object
                  ? { [K in keyof T]-?: AnyIn<T[K], `${Path}.${K & string}`, [...Fuel, 0]> }[keyof T]
                  : never

type AnyInEach<Args extends readonly unknown[], Path extends string, Fuel extends readonly unknown[]> = {
  [Index in keyof Args]-?: AnyIn<Args[Index], Path, Fuel>
}[number]

interface PublicTypes {
  activatedEvent: library.ActivatedEvent
  adoptOutcome: adapter.AdoptOutcome
  authorizeContext: library.AuthorizeContext
  dbClientObject: library.DbClientObject
  dbContext: adapter.DbContext
  dbHooks: library.DbHooks
  dbOptions: library.DbOptions
  dbPlugin: library.DbPlugin
  errorBody: library.ErrorBody
  errorListener: library.ErrorListener
  eventCounts: library.EventCounts
  eventPage: library.EventPage
  guard: library.Guard
  handler: library.Handler
  handlerOptions: adapter.HandlerOptions
  installedPlugin: adapter.InstalledPlugin
  leftover: library.Leftover
  listedEvent: library.ListedEvent
  memoryAdapterOptions: memory.MemoryAdapterOptions
  objectPage: library.ObjectPage
  quotaSource: library.QuotaSource
  recordKeeper: adapter.RecordKeeper
  resolveScope: library.ResolveScope
  recordedChange: adapter.RecordedChange
  scopeSummary: library.ScopeSummary
  scopeUsage: library.ScopeUsage
  seedObject: memory.SeedObject
  serverPlugin: adapter.ServerPlugin
  storageError: library.StorageError
  storageObject: library.StorageObject
  storageObjectStore: library.StorageObjectStore
  storeDriver: adapter.StoreDriver
  storedEvent: library.StoredEvent
  storedItem: library.StoredItem
  transferOutcome: adapter.TransferOutcome
  updateInput: library.UpdateInput
  usageDifference: library.UsageDifference
}

describe('no any', () => {
  it('is in the parameters and results of public functions', () => {
    expectTypeOf<AnyIn<typeof library, 'library'>>().toBeNever()
    expectTypeOf<AnyIn<typeof adapter, 'adapter'>>().toBeNever()
    expectTypeOf<AnyIn<typeof memory, 'memory'>>().toBeNever()
  })

  it('is in the public types', () => {
    expectTypeOf<AnyIn<PublicTypes, 'types'>>().toBeNever()
  })

  it('goes undetected', () => {
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the check must find this one
    type Any = any
    expectTypeOf<AnyIn<{ a: { b: Any } }, 'x'>>().toEqualTypeOf<'x.a.b'>()
    expectTypeOf<AnyIn<() => Promise<{ a: Any }[]>, 'x'>>().toEqualTypeOf<'x=>.then[].a'>()
    expectTypeOf<AnyIn<(a: string, b: Any) => void, 'x'>>().toEqualTypeOf<'x()'>()
    expectTypeOf<AnyIn<(options: { a?: Any }) => void, 'x'>>().toEqualTypeOf<'x().a'>()
    expectTypeOf<AnyIn<string | { a: Any } | null, 'x'>>().toEqualTypeOf<'x.a'>()
  })
})
