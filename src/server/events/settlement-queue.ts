import type { SettleEventInput } from '../../core/store/contract.js'

/** The most entries that one call of `settleEvents` takes. */
const MAX_ENTRIES = 1000

interface Waiting {
  readonly entry: SettleEventInput
  readonly resolve: (held: boolean) => void
  readonly reject: (error: unknown) => void
}

/** Settles events together: those whose handlers end at once, and those that end while a call is in flight. */
export class SettlementQueue {
  readonly #settle: (entries: readonly SettleEventInput[]) => Promise<ReadonlySet<string>>
  readonly #waiting = new Map<string, Waiting>()
  #isSettling = false

  constructor(settle: (entries: readonly SettleEventInput[]) => Promise<ReadonlySet<string>>) {
    this.#settle = settle
  }

  /** Settles one event. Resolves to whether its claim still held. */
  add(entry: SettleEventInput): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // Only a newer claim of the same event comes here twice.
      this.#waiting.get(entry.id)?.resolve(false)
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
      const held = await this.#settle(batch.map(({ entry }) => entry))
      for (const { entry, resolve } of batch) resolve(held.has(entry.id))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
