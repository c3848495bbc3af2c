import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { StoreDriver } from '../../src/core/store/driver.js'

/** The methods of a driver whose outcomes name the scopes they touched. */
const WRITES = [
  'reserve',
  'confirm',
  'setUploadId',
  'release',
  'remove',
  'update',
  'transfer',
  'adopt',
  'purgeExpired',
  'purgeDeleted',
] as const satisfies readonly (keyof StoreDriver)[]

interface Parts {
  readonly driver: Record<string, unknown>
}

/** Where `createStore` keeps the driver of a store. */
const PARTS = Symbol.for('@svc/db/driver')

/** Records which scopes the writes of a store's driver report. */
export class ReportedScopes {
  #scopes = new Set<string>()

  /** Replaces the writes of the store's driver by ones that also record their scopes. */
  static of(store: StorageObjectStore): ReportedScopes {
    const { driver } = (store as { readonly [PARTS]?: Parts })[PARTS] ?? {}
    if (driver === undefined)
      throw new TypeError('`driver: true` needs stores that createStore() of @svc/db/adapter returned.')
    const reported = new ReportedScopes()
    for (const name of WRITES) {
      const write = driver[name]
      if (typeof write !== 'function') continue
      const recording = async (...args: unknown[]): Promise<unknown> => {
        const outcome: unknown = await Reflect.apply(write, driver, args)
        reported.#record(outcome)
        return outcome
      }
      if (!Reflect.defineProperty(driver, name, { value: recording, configurable: true, writable: true }))
        throw new TypeError('`driver: true` needs a driver that is not frozen.')
    }
    return reported
  }

  /** Returns the scopes that were reported since the last call. */
  take(): ReadonlySet<string> {
    const scopes = this.#scopes
    this.#scopes = new Set()
    return scopes
  }

  #record(outcome: unknown): void {
    const { scopes } = (outcome ?? {}) as { readonly scopes?: unknown }
    if (!Array.isArray(scopes)) return
    for (const scope of scopes) this.#scopes.add(String(scope))
  }
}
