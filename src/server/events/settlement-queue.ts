import type { SettleEventInput } from '../../core/store/contract.js'
import type { SettledEvent } from '../../core/store/events.js'

/** The most entries that one call of `settleEvents` takes. */
const MAX_ENTRIES = 1000

interface Waiting {
  readonly entry: SettleEventInput
  readonly resolve: (settled: SettledEvent | null) => void
  readonly reject: (error: unknown) => void
}

/** Settles events. Resolves to those whose claims still held, by id. */
type Settle = (entries: readonly SettleEventInput[]) => Promise<ReadonlyMap<string, SettledEvent>>

/** Settles events together: those whose handlers end at once, and those that end while a call is in flight. */
export class SettlementQueue {
  readonly #settle: Settle
  readonly #waiting = new Map<string, Waiting>()
  #isSettling = false

  constructor(settle: Settle) {
    this.#settle = settle
  }

  /** Settles one event. Resolves to `null` if its claim was lost. */
  add(entry: SettleEventInput): Promise<SettledEvent | null> {
    return new Promise((resolve, reject) => {
      // Only a newer claim of the same event comes here twice.
      this.#waiting.get(entry.id)?.resolve(null)
      this.#waiting.set(entry.id, { entry, resolve, reject })
      if (!this.#isSettling) void this.#settleAll()
    })
  }

  async #settleAll(): Promise<void> {
    this.#isSettling = true
    // Handlers that ended in the same step join the first call.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values()].slice(0, MAX_ENTRIES)
      for (const { entry } of batch) this.#waiting.delete(entry.id)
      await this.#settleBatch(batch)
    }
    this.#isSettling = false
  }

  async #settleBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const settled = await this.#settle(batch.map(({ entry }) => entry))
      for (const { entry, resolve } of batch) resolve(settled.get(entry.id) ?? null)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
