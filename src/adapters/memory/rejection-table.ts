import { REJECTION_SECONDS } from '../../core/store/inputs/index.js'
import type { Rejection } from '../../core/store/lifecycle/change.js'
import { datePosition, endOfDate, SortedMap } from './sorted-map.js'

/** The attempts that were rejected in the last hour, and those before them until the next verdict. */
export class RejectionTable {
  readonly #byAttempt = new Map<string, Rejection>()
  readonly #byDate = new SortedMap<Rejection>()

  get size(): number {
    return this.#byAttempt.size
  }

  get(attemptId: string): Rejection | null {
    return this.#byAttempt.get(attemptId) ?? null
  }

  /** Adds a rejection, in place of one of the same attempt, and forgets those that are too old to be reported. */
  set(rejection: Rejection): void {
    const { attemptId, rejectedAt } = rejection
    this.forgetUntil(new Date(rejectedAt.getTime() - REJECTION_SECONDS * 1000), null)
    const earlier = this.#byAttempt.get(attemptId)
    if (earlier) this.#forget(earlier)
    this.#byAttempt.set(attemptId, rejection)
    this.#byDate.set(datePosition(rejectedAt, attemptId), rejection)
  }

  /** Forgets the rejections up to a date, of a scope or of all (`null`). */
  forgetUntil(date: Date, scope: string | null): void {
    for (const rejection of this.#byDate.ascending(null, endOfDate(date), Infinity)) {
      if (scope === null || rejection.scope === scope) this.#forget(rejection)
    }
  }

  #forget({ attemptId, rejectedAt }: Rejection): void {
    this.#byAttempt.delete(attemptId)
    this.#byDate.delete(datePosition(rejectedAt, attemptId))
  }
}
