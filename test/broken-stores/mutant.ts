import {
  StorageError,
  type QuotaRefusal,
  type ObjectReference,
  type StorageObject,
  type StorageObjectStore,
  createStore,
  type StoreDriver,
  type UpdateOutcome,
} from '../../src/adapter.js'
import type { ConformanceOptions } from '../conformance/options.js'
import { memoryAdapter } from '../../src/adapters/memory/index.js'
import { createMemoryDriver } from '../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../src/adapters/memory/tables.js'

interface Context {
  readonly now: () => Date
  readonly events?: boolean | undefined
}

/** A store with one defect, which the suite must reject. */
export interface Mutant {
  /** What it does wrong, as the end of a sentence: "a store that …". */
  readonly defect: string
  readonly createStore: (context: Context) => StorageObjectStore
  /** Further options of the suite, which show the defect. */
  readonly options?: Pick<ConformanceOptions, 'createEmpty' | 'reopen' | 'tamper' | 'driver'>
  /** The tests that must reject it, each of them. Other tests may reject it too. */
  readonly rejectedBy: readonly string[]
}

type Broken = Mutant['createStore']

/** By their defect: broken stores, and the tests that must reject them. */
export type Mutants = Readonly<
  Record<string, readonly [Broken | Pick<Mutant, 'createStore' | 'options'>, ...string[]]>
>

const sequential = (about: string) => `scripts: of sequential calls ${about} match the model`
const concurrent = (about: string) => `scripts: of concurrent calls ${about} match the model in some order`

export const SCRIPTS = {
  ofAnything: sequential('of every kind with unusual names'),
  aboutAttempts: sequential('about attempts and their owners'),
  aboutExpiry: sequential('about expired reservations'),
  aboutRemoving: sequential('about replacement, removal and leftovers'),
  aboutQuotas: sequential('about quotas'),
  aboutChanges: sequential('about changes of objects without an upload'),
  aboutTemporary: sequential('about temporary objects'),
  aboutChecks: sequential('about checked uploads'),
  aboutEvents: sequential('about events and their claims'),
  concurrent: concurrent('of every kind'),
  overOneKey: concurrent('over one key'),
  overAQuota: concurrent('over the rest of a quota'),
  overExpired: concurrent('over expired reservations'),
  aboutLeftovers: concurrent('over leftovers'),
  overOneObject: concurrent('over one object and its owners'),
  overAdoptedBytes: concurrent('over adopted bytes'),
  overTemporary: concurrent('over temporary objects'),
  overArrived: concurrent('over arrived attempts'),
  ofUnknownFields: 'scripts: of calls with unknown fields are refused, and change nothing',
  ofWorkers: 'scripts: of workers that claim events at the same time settle each once, in order',
} as const

/** Replaces calls of the memory store. */
export function overStore(
  broken: (store: StorageObjectStore, context: Context) => Partial<StorageObjectStore>,
): Broken {
  return (context) => {
    const store = memoryAdapter(context)
    return { ...store, ...broken(store, context) }
  }
}

type StoreMethod = {
  [Name in keyof StorageObjectStore]: Parameters<StorageObjectStore[Name]> extends [unknown?] ? Name : never
}[keyof StorageObjectStore]
type Input<Name extends StoreMethod> = Parameters<StorageObjectStore[Name]>[0]
type Returned<Name extends StoreMethod> = Awaited<ReturnType<StorageObjectStore[Name]>>

/** Replaces one call of the memory store. */
export function storeCall<Name extends StoreMethod>(
  name: Name,
  broken: (input: Input<Name>, store: StorageObjectStore, context: Context) => Promise<Returned<Name>>,
): Broken {
  return overStore((store, context) => ({ [name]: (input: Input<Name>) => broken(input, store, context) }))
}

/** Changes the input of one call of the memory store. */
export function storeInput<Name extends StoreMethod>(
  name: Name,
  broken: (
    input: Input<Name>,
    store: StorageObjectStore,
    context: Context,
  ) => Input<Name> | Promise<Input<Name>>,
): Broken {
  return overStore((store, context) => ({
    [name]: async (input: Input<Name>) => callsOf(store)[name]!(await broken(input, store, context)),
  }))
}

/** Changes the result of one call of the memory store. */
export function storeResult<Name extends StoreMethod>(
  name: Name,
  broken: (
    result: Returned<Name>,
    input: Input<Name>,
    store: StorageObjectStore,
    context: Context,
  ) => Returned<Name> | Promise<Returned<Name>>,
): Broken {
  return overStore((store, context) => ({
    [name]: async (input: Input<Name>) => {
      const result = (await callsOf(store)[name]!(input)) as Returned<Name>
      return broken(result, input, store, context)
    },
  }))
}

/** Returns the calls of a store by name, with arguments that the compiler can't match to them. */
export function callsOf(store: StorageObjectStore) {
  return store as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>
}

/** Changes every row that the memory store returns, but not the rows that it stores. */
export function overEveryRow(broken: (row: StorageObject) => StorageObject): Broken {
  const mapped = (result: unknown): unknown => {
    if (Array.isArray(result)) return result.map(mapped)
    if (typeof result !== 'object' || result === null) return result
    if ('status' in result) return broken(result as StorageObject)
    return 'objects' in result ? { ...result, objects: mapped(result.objects) } : result
  }
  return overStore((store) => {
    const calls = Object.entries(callsOf(store))
    return Object.fromEntries(
      calls.map(([name, call]) => [name, async (...args: unknown[]) => mapped(await call(...args))]),
    )
  })
}

/** Replaces calls of the memory store's driver. */
export function overDriver(broken: (driver: StoreDriver) => Partial<StoreDriver>): Broken {
  return (context) => storeOver(new Tables({ events: context.events ?? false }), broken, context)
}

type DriverMethod = {
  [Name in keyof StoreDriver]: StoreDriver[Name] extends (command: never) => Promise<unknown> ? Name : never
}[keyof StoreDriver]
type Command<Name extends DriverMethod> = Parameters<StoreDriver[Name]>[0]
type Outcome<Name extends DriverMethod> = Awaited<ReturnType<StoreDriver[Name]>>

/** Replaces one call of the memory store's driver. */
export function driverCall<Name extends DriverMethod>(
  name: Name,
  broken: (command: Command<Name>, driver: StoreDriver) => Promise<Outcome<Name>>,
): Broken {
  return overDriver((driver) => ({ [name]: (command: Command<Name>) => broken(command, driver) }))
}

function callOf<Name extends DriverMethod>(driver: StoreDriver, name: Name) {
  return driver[name] as (command: Command<Name>) => Promise<Outcome<Name>>
}

/** Changes the command of one call of the memory store's driver. */
export function driverInput<Name extends DriverMethod>(
  name: Name,
  broken: (command: Command<Name>, driver: StoreDriver) => Command<Name> | Promise<Command<Name>>,
): Broken {
  return overDriver((driver) => ({
    [name]: async (command: Command<Name>) => callOf(driver, name)(await broken(command, driver)),
  }))
}

/** Changes the result of one call of the memory store's driver. */
export function driverResult<Name extends DriverMethod>(
  name: Name,
  broken: (
    result: Outcome<Name>,
    command: Command<Name>,
    driver: StoreDriver,
  ) => Outcome<Name> | Promise<Outcome<Name>>,
): Broken {
  return overDriver((driver) => ({
    [name]: async (command: Command<Name>) => broken(await callOf(driver, name)(command), command, driver),
  }))
}

/** Replaces calls of the memory store's driver, with access to its tables. */
export function overTables(broken: (tables: Tables, driver: StoreDriver) => Partial<StoreDriver>): Broken {
  return (context) => {
    const tables = new Tables({ events: context.events ?? false })
    return storeOver(tables, (driver) => broken(tables, driver), context)
  }
}

export type Change = Parameters<Tables['apply']>[0]

/** Replaces the changes that the memory store applies to its tables. */
export function overChanges(broken: (change: Change) => Change): Broken {
  class BrokenTables extends Tables {
    override apply(change: Change): void {
      super.apply(broken(change))
    }
  }
  return (context) => storeOver(new BrokenTables({ events: context.events ?? false }), () => ({}), context)
}

/** Changes fields of the active row after a change. */
export function withActive(change: Change, fields: Partial<TrackedRow>): Change {
  return { ...change, after: { ...change.after, active: { ...change.after.active!, ...fields } } }
}

function storeOver(
  tables: Tables,
  broken: (driver: StoreDriver) => Partial<StoreDriver>,
  context: Context,
): StorageObjectStore {
  const driver = createMemoryDriver(tables)
  // Mutants look at a key by the command that they break, whose scope is not a filter of what they need to see.
  const ofAnyScope: StoreDriver = {
    ...driver,
    find: (query) => driver.find({ ...query, scope: null }),
    findActive: (query) => driver.findActive({ ...query, scope: null }),
    findPending: (query) => driver.findPending({ ...query, scope: null }),
  }
  return createStore({ ...driver, ...broken(ofAnyScope) }, { now: context.now })
}

export function invalid(field: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { params: { field } })
}

interface Reference extends ObjectReference {
  readonly scope?: string | null | undefined
  readonly id?: string | null | undefined
}

/** Returns what finds the rows that a call is about. Finds refuse its other fields, such as a quota. The input may be invalid. */
export function referenceOf(input: Reference | undefined): Reference {
  const { bucket, key, scope, id } = { ...input } as Reference
  return { bucket, key, scope, id }
}

/** Lets every other started call run first: the gap between a read and a write. */
export const gap = () => new Promise((resolve) => setImmediate(resolve))

/** Returns whether a write was refused for its quota. */
export function isOverQuota(result: { readonly outcome: string }): result is QuotaRefusal {
  return result.outcome === 'maxBytes' || result.outcome === 'maxFiles'
}

/** Returns the row of an update, or `null` if there is none or it was refused. */
export function updatedRow(result: UpdateOutcome): StorageObject | null {
  return result.outcome === 'updated' ? result.row : null
}

export const NO_QUOTA = { maxBytes: null, maxFiles: null }
export const NO_TERMS = { temporarySeconds: null, checkSeconds: null }

type TrackedRow = NonNullable<Change['after']['active']>

/** Changes the row that a confirm makes of a replacement. */
export function overReplacements(broken: (active: TrackedRow, replaced: TrackedRow) => TrackedRow): Broken {
  return overChanges((change) => {
    const { before, after } = change
    const replaced = before.active && before.pending && after.active && !after.pending ? before.active : null
    return replaced ? { ...change, after: { ...after, active: broken(after.active!, replaced) } } : change
  })
}

type Recorded = Parameters<Tables['events']['record']>[0]
/** A change that the contract may not allow. */
type BrokenRecord = Pick<Recorded, 'type' | 'object' | 'previous'> & { readonly reason?: string | null }

/** Replaces each change that the memory store records as an event, by any number of others. */
export function overRecording(
  broken: (change: Recorded, now: Date) => readonly (readonly [BrokenRecord, Date])[],
): Broken {
  return (context) => {
    const tables = new Tables({ events: context.events ?? false })
    const { events } = tables
    const record = events.record.bind(events) as (change: BrokenRecord, now: Date) => void
    events.record = (change, now) => {
      for (const each of broken(change, now)) record(...each)
    }
    return storeOver(tables, () => ({}), context)
  }
}
