import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { Confirmed, StoreDriver } from '../../src/core/store/driver.js'
import type { SettledEvent } from '../../src/core/store/events.js'

/** The methods of a driver whose outcomes tell more than the store returns. */
const REPORTING = [
  'reserve',
  'adopt',
  'confirm',
  'settleEvents',
] as const satisfies readonly (keyof StoreDriver)[]

interface Parts {
  readonly driver: Record<string, unknown>
}

/** Where `createStore` keeps the driver of a store. */
const PARTS = Symbol.for('@svc/db/driver')

interface Reported {
  /** `null` if no outcome had any. */
  readonly scopes: ReadonlySet<string> | null
  readonly confirms: readonly Pick<Confirmed, 'isRepeat' | 'replaced'>[]
  readonly settled: readonly SettledEvent[]
}

/** Records what the outcomes of a store's driver report beyond their rows. */
export class ReportedOutcomes {
  #outcomes: unknown[] = []

  /** Replaces writes of the store's driver by ones that also record their outcomes. */
  static of(store: StorageObjectStore): ReportedOutcomes {
    const { driver } = (store as { readonly [PARTS]?: Parts })[PARTS] ?? {}
    if (driver === undefined)
      throw new TypeError('`driver: true` needs stores that createStore() of @svc/db/adapter returned.')
    const reported = new ReportedOutcomes()
    for (const name of REPORTING) {
      const write = driver[name]
      if (typeof write !== 'function') continue
      const recording = async (...args: unknown[]): Promise<unknown> => {
        const outcome: unknown = await Reflect.apply(write, driver, args)
        reported.#outcomes.push(outcome)
        return outcome
      }
      if (!Reflect.defineProperty(driver, name, { value: recording, configurable: true, writable: true }))
        throw new TypeError('`driver: true` needs a driver that is not frozen.')
    }
    return reported
  }

  /** Returns what was reported since the last call. */
  take(): Reported {
    const isList = (outcome: unknown) => Array.isArray(outcome)
    const settled = this.#outcomes.filter(isList).flat() as SettledEvent[]
    const outcomes = this.#outcomes.filter((outcome) => !isList(outcome)) as {
      readonly outcome?: unknown
      readonly scopes?: readonly string[]
    }[]
    this.#outcomes = []
    const named = outcomes.flatMap(({ scopes }) => (scopes === undefined ? [] : [scopes]))
    const confirms = outcomes.filter(({ outcome }) => outcome === 'confirmed') as unknown as Confirmed[]
    return {
      scopes: named.length > 0 ? new Set(named.flat()) : null,
      confirms: confirms.map(({ isRepeat, replaced }) => ({ isRepeat, replaced })),
      settled,
    }
  }
}
