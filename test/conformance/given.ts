import type { Leftover, ObjectReference, StorageObject } from '../../src/core/store/records.js'
import type { ConfirmInput, ReserveInput, StorageObjectStore } from '../../src/core/store/contract.js'
import { EARLY_IDS, attemptIdOf } from './attempt-ids.js'
import type { ManualClock } from './clock.js'
import { HOUR } from './clock.js'

/** What a case is given: an empty store, its clock, and short ways to say what most cases need. */
export class Given {
  readonly store: StorageObjectStore
  readonly clock: ManualClock
  readonly scope = 'alice'
  readonly otherScope = 'bob'
  /** Where everything happens that doesn't say otherwise. */
  readonly at: ObjectReference = { bucket: 'bucket', key: 'key' }
  #ids = 0

  constructor(store: StorageObjectStore, clock: ManualClock) {
    this.store = store
    this.clock = clock
  }

  /** The least that a reserve takes, lapsing in an hour. */
  input(changes: Partial<ReserveInput> = {}): ReserveInput {
    return { scope: this.scope, ...this.at, declaredSize: 10, expiresAt: this.clock.in(HOUR), ...changes }
  }

  reserve(changes: Partial<ReserveInput> = {}): Promise<StorageObject> {
    return this.store.reserve(this.input(changes))
  }

  confirm(changes: Partial<ConfirmInput> = {}): Promise<StorageObject> {
    return this.store.confirm({ ...this.at, size: 10, ...changes })
  }

  /** Reserves and confirms, with the size that was declared. */
  async activate(
    changes: Partial<ReserveInput> = {},
    verified: Partial<ConfirmInput> = {},
  ): Promise<StorageObject> {
    const { bucket, key, id, declaredSize } = await this.reserve(changes)
    return this.store.confirm({ bucket, key, id, size: declaredSize ?? 0, ...verified })
  }

  /** A soft removed object. */
  async history(changes: Partial<ReserveInput> = {}): Promise<StorageObject> {
    const { bucket, key } = await this.activate(changes)
    return (await this.store.remove({ bucket, key }))!
  }

  /** Reservations under keys of their own, in the order of the list. */
  async reserveEach(inputs: readonly Partial<ReserveInput>[]): Promise<StorageObject[]> {
    const rows: StorageObject[] = []
    for (const [index, changes] of inputs.entries()) {
      rows.push(await this.reserve({ key: `key ${index}`, ...changes }))
    }
    return rows
  }

  /** An id that nothing carries; each sorts behind the one before. */
  newId(): string {
    return attemptIdOf(EARLY_IDS, ++this.#ids)
  }

  leftovers(): Promise<Leftover[]> {
    return this.store.listLeftovers({ limit: 1000 })
  }
}

/** Numbers from 0, to make so many of something. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number)
}

export function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id)
}
