import type { Leftover, StorageObject } from '../../../core/store/records.js'
import { LATEST_DATE } from '../../../core/store/validation/checks.js'
import type { ServerDependencies } from '../../server-dependencies.js'
import type { ItemRun } from '../item-run.js'
import { lookForErasure, removeUnused, settleLeftover } from '../leftover.js'
import { leftoversOfScope, rowsOfScope } from '../scope-pages.js'

export interface ErasureOptions extends ServerDependencies {
  /** The name of the job, as errors are reported with. */
  readonly operation: string
  readonly scope: string
  readonly signal: AbortSignal | null
  readonly run: ItemRun
}

const HISTORY_BATCH = 1000

/** The steps of erasing a scope. Each can be stopped anywhere and repeated. */
export class Erasure {
  readonly counts = { objects: 0, bytes: 0, reservations: 0, history: 0 }
  readonly #options: ErasureOptions
  /** The sizes of removed objects whose bytes could not be deleted, by attempt. Their leftovers try again. */
  readonly #failedBytes = new Map<string, number>()

  constructor(options: ErasureOptions) {
    this.#options = options
  }

  /** Releases the uploads in progress. Those that are confirmed first are objects by the time objects are listed. */
  async endReservations(): Promise<void> {
    const { records, run, scope } = this.#options
    await run.process(rowsOfScope(records.objects, scope, 'pending'), async ({ bucket, key, id }) => {
      if (await records.objects.release({ bucket, key, id, scope })) this.counts.reservations++
    })
  }

  async removeObjects(): Promise<void> {
    const { records, run, scope } = this.#options
    await run.process(rowsOfScope(records.objects, scope, 'active'), (row) => this.#removeObject(row))
  }

  /** Removes whatever the scope has at the key: first the rows, which records their leftovers, then the bytes. */
  async #removeObject({ bucket, key }: StorageObject): Promise<void> {
    const { records, scope } = this.#options
    const removed = await records.remove({ bucket, key, scope, mode: 'hard' })
    if (!removed) return
    if (removed.status === 'pending') {
      this.counts.reservations++
      return
    }
    this.counts.objects++
    const { storageKey, attemptId, size } = removed
    if (storageKey === null) return
    try {
      const outcome = await removeUnused(this.#options, { bucket, key, storageKey })
      if (outcome === 'removed') this.counts.bytes += size ?? 0
    } catch {
      this.#failedBytes.set(attemptId, size ?? 0)
    }
  }

  async purgeHistory(): Promise<void> {
    const { records, scope, signal } = this.#options
    // Not until now: the clock that recorded a deletion may be ahead of this one.
    const before = new Date(LATEST_DATE)
    while (!signal?.aborted) {
      const purged = await records.objects.purgeDeleted({ scope, before, limit: HISTORY_BATCH })
      if (purged === 0) return
      this.counts.history += purged
    }
  }

  async settleLeftovers(): Promise<void> {
    const { records, run, scope } = this.#options
    await run.process(leftoversOfScope(records.objects, scope), (leftover) => this.#settleLeftover(leftover))
  }

  async #settleLeftover(leftover: Leftover): Promise<void> {
    const { operation, now } = this.#options
    const look = lookForErasure(operation, leftover, now())
    let outcome = await settleLeftover(this.#options, leftover, look)
    // Nothing can be written any more, so a second look verifies that nothing is left, and forgets the leftover.
    if (outcome === 'removed' && look.isLast) outcome = await settleLeftover(this.#options, leftover, look)
    if (outcome !== 'kept') this.counts.bytes += this.#failedBytes.get(leftover.attemptId) ?? 0
  }
}
