import type { Leftover, ObjectReference, StorageObject } from '../../src/core/store/records.js'
import type {
  AdoptInput,
  AdoptResult,
  ConfirmInput,
  ReserveInput,
  StorageObjectStore,
} from '../../src/core/store/contract.js'
import { holds } from './assertions.js'
import { EARLY_IDS, attemptIdOf } from './attempt-ids.js'
import type { ManualClock } from './clock.js'
import { HOUR } from './clock.js'
import type { EmptyStore } from './store-factory.js'
import { changeOf, type ReportedChange } from './event-views.js'
import type { Place, PlaceOption } from './place.js'

/** Cases by title. Each title is a sentence of the contract, with the title of its group in front. */
export interface CaseGroup {
  readonly title: string
  /** Whether the store of each case records events. Default `false`. */
  readonly events?: boolean
  /** The option of the suite that the cases need. With `createEmpty`, the store of each case comes from it. */
  readonly needs?: PlaceOption
  readonly cases: Readonly<Record<string, (given: Given) => Promise<void>>>
}

/** The input of a case: an empty store, its clock, and shortcuts for common calls. */
export class Given {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
  readonly place: Place
  readonly scope = 'alice'
  readonly otherScope = 'bob'
  /** The key that the shortcuts use by default. */
  readonly at: ObjectReference = { bucket: 'bucket', key: 'key' }
  #ids = 0
  #arrivals = 0

  constructor({ store, clock, place }: EmptyStore) {
    this.store = store
    this.clock = clock
    this.place = place
  }

  /** The smallest input of a reserve that expires in an hour. */
  input(changes: Partial<ReserveInput> = {}): ReserveInput {
    return { scope: this.scope, ...this.at, declaredSize: 10, expiresAt: this.clock.in(HOUR), ...changes }
  }

  reserve(changes: Partial<ReserveInput> = {}): Promise<StorageObject> {
    return this.store.reserve(this.input(changes))
  }

  confirm(changes: Partial<ConfirmInput> = {}): Promise<StorageObject> {
    return this.store.confirm({ ...this.at, size: 10, ...changes })
  }

  /** Reserves a key and confirms it with the declared size. */
  async activate(
    changes: Partial<ReserveInput> = {},
    verified: Partial<ConfirmInput> = {},
  ): Promise<StorageObject> {
    const { bucket, key, id, declaredSize } = await this.reserve(changes)
    return this.store.confirm({ bucket, key, id, size: declaredSize ?? 0, ...verified })
  }

  /** Reserves a key for an upload that must be checked, and confirms it, so that it arrives. */
  async arrive(
    changes: Partial<ReserveInput> = {},
    verified: Partial<ConfirmInput> = {},
  ): Promise<StorageObject> {
    const { key = this.at.key } = changes
    return this.activate(
      { storageKey: `bytes of ${key} ${++this.#arrivals}`, checkSeconds: 60, ...changes },
      verified,
    )
  }

  /** Accepts an arrived attempt. */
  accept(
    { bucket, key, id, size }: StorageObject,
    changes: Partial<ConfirmInput> = {},
  ): Promise<StorageObject> {
    return this.store.confirm({ bucket, key, id, size: size!, accept: true, ...changes })
  }

  /** Creates an object and removes it softly. */
  async history(changes: Partial<ReserveInput> = {}): Promise<StorageObject> {
    const { bucket, key } = await this.activate(changes)
    return (await this.store.remove({ bucket, key }))!
  }

  /** Adopts bytes that are an hour old. */
  adopt(changes: Partial<AdoptInput> = {}): Promise<AdoptResult> {
    const createdAt = this.clock.in(-HOUR)
    return this.store.adopt({
      ...{ scope: this.scope, ...this.at, storageKey: 'adopted', size: 10, createdAt },
      ...changes,
    })
  }

  /** Adopts bytes that nothing names, and returns their object. */
  async adopted(changes: Partial<AdoptInput> = {}): Promise<StorageObject> {
    const { object, known } = await this.adopt(changes)
    holds(object !== null && !known, 'the bytes are known')
    return object
  }

  /** Claims and settles all events, and returns their changes. Those of one object are in order. */
  async takeEvents(): Promise<ReportedChange[]> {
    const changes: ReportedChange[] = []
    for (;;) {
      const claimed = await this.store.claimEvents({ limit: 1000 })
      if (claimed.length === 0) return changes
      changes.push(...claimed.map(changeOf))
      const settled = await this.store.settleEvents(claimed.map(({ id, claim }) => ({ id, claim })))
      if (settled.length === 0) return changes
    }
  }

  /** Makes each reservation under its own key, one after the other. */
  async reserveEach(inputs: readonly Partial<ReserveInput>[]): Promise<StorageObject[]> {
    const rows: StorageObject[] = []
    for (const [index, changes] of inputs.entries()) {
      rows.push(await this.reserve({ key: `key ${index}`, ...changes }))
    }
    return rows
  }

  /** Returns an unused id that sorts after the previous one. */
  newId(): string {
    return attemptIdOf(EARLY_IDS, ++this.#ids)
  }

  leftovers(): Promise<Leftover[]> {
    return this.store.listLeftovers({ limit: 1000 })
  }

  /** Completes a leftover of the case's key and scope. */
  leftover(
    fields: Omit<Leftover, 'bucket' | 'key' | 'scope' | 'dueAt' | 'readableUntil'> & Partial<Leftover>,
  ): Leftover {
    return { ...this.at, scope: this.scope, dueAt: null, readableUntil: null, ...fields }
  }
}

export const NO_USAGE = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

/** Returns the numbers from 0 to `count - 1`. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number)
}

export function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id)
}

/**
 * Waits until all promises have settled, then throws the first rejection. Unlike `Promise.all`, it leaves no call running
 * when the next test starts, possibly on the same database.
 */
export async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
