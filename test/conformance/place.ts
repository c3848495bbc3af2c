import type { StorageObjectStore } from '../../src/core/store/contract.js'
import type { CallLimit } from './call-limit.js'
import { ConformanceFailure } from './failure.js'
import type { ConformanceOptions } from './options.js'
import { ReportedOutcomes } from './reported-outcomes.js'

/** The options that show the suite more than the results of one store's calls. */
export type PlaceOption = 'createEmpty' | 'reopen' | 'tamper' | 'driver'

type Options = Pick<ConformanceOptions, PlaceOption | 'close'>

/** The database or namespace of one store: more stores on it, its recorded usage, and what its driver reports. */
export class Place {
  /** What the driver reports, or `null` without the option `driver`. */
  readonly reported: ReportedOutcomes | null
  readonly #options: Options
  readonly #now: () => Date
  readonly #limit: CallLimit
  readonly #store: StorageObjectStore
  readonly #reopened: StorageObjectStore[] = []

  constructor(options: Options, store: StorageObjectStore, now: () => Date, limit: CallLimit) {
    this.#options = options
    this.#store = store
    this.#now = now
    this.#limit = limit
    this.reported = options.driver ? ReportedOutcomes.of(store) : null
  }

  get canReopen(): boolean {
    return this.#options.reopen != null
  }

  /** Opens another store on the same place, whose `migrate()` switches events on or off if `events` is given. */
  async reopen(options: { readonly events?: boolean } = {}): Promise<StorageObjectStore> {
    const context = { now: this.#now, ...options }
    const store = await this.#limit.of('reopen', this.#options.reopen!(this.#store, context))
    if (store === this.#store)
      throw new TypeError('`reopen` must return a new store on the same place (got the same store).')
    this.#reopened.push(store)
    return this.#limit.ofStore(store)
  }

  /** Spoils the recorded usage of a scope. */
  async tamper(scope: string): Promise<void> {
    const store = this.#limit.ofStore(this.#store)
    const before = JSON.stringify(await store.getScopeUsage(scope))
    await this.#limit.of('tamper', this.#options.tamper!(this.#store, scope))
    if (JSON.stringify(await store.getScopeUsage(scope)) === before)
      throw new ConformanceFailure('`tamper` changed nothing that getScopeUsage returns.')
  }

  /** Closes all stores, the first one last. */
  async close(): Promise<void> {
    for (const store of [...this.#reopened, this.#store])
      await this.#limit.of('close', this.#options.close?.(store))
  }
}
