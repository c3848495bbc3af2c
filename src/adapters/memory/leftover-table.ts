import type { DeferLeftoverCommand } from '../../core/store/driver.js'
import type { Leftover } from '../../core/store/records.js'
import { datePosition, SortedMap } from './sorted-map.js'
import type { StoredNames } from './stored-names.js'

/** Returns a deep copy, so that callers can change it safely. */
export function copyLeftover(leftover: Leftover): Leftover {
  const { since, writableUntil, dueAt, readableUntil } = leftover
  return {
    ...leftover,
    since: new Date(since),
    writableUntil: new Date(writableUntil),
    dueAt: dueAt && new Date(dueAt),
    readableUntil: readableUntil && new Date(readableUntil),
  }
}

function isAfter(dueAt: Date | null, dueBefore: Date | null): boolean {
  return dueAt !== null && dueBefore !== null && dueAt > dueBefore
}

class LeftoverOrders {
  readonly bySince = new SortedMap<Leftover>()
  readonly byDue = new SortedMap<Leftover>()

  set(leftover: Leftover): void {
    this.bySince.set(datePosition(leftover.since, leftover.attemptId), leftover)
    this.byDue.set(duePosition(leftover), leftover)
  }

  delete(leftover: Leftover): void {
    this.bySince.delete(datePosition(leftover.since, leftover.attemptId))
    this.byDue.delete(duePosition(leftover))
  }
}

/** Returns the sort key of a leftover in the list of those that are due. Leftovers that were never put off come first. */
export function duePosition({ dueAt, attemptId }: Pick<Leftover, 'dueAt' | 'attemptId'>): string {
  return dueAt === null ? `-/${attemptId}` : datePosition(dueAt, attemptId)
}

/** The leftovers, with an index for every list. */
export class LeftoverTable {
  readonly #byAttempt = new Map<string, Leftover>()
  readonly #all = new LeftoverOrders()
  readonly #scopes = new Map<string, LeftoverOrders>()

  /** `names`: receives each leftover that is added or deleted. */
  constructor(private readonly names: StoredNames) {}

  /** Returns the leftovers of a scope, or all for `null`; `null` if there are none. */
  of(scope: string | null): LeftoverOrders | null {
    return scope === null ? this.#all : (this.#scopes.get(scope) ?? null)
  }

  /** Adds a leftover, in place of one of the same attempt. */
  set(leftover: Leftover): void {
    this.forget(leftover.attemptId)
    this.#byAttempt.set(leftover.attemptId, leftover)
    this.#all.set(leftover)
    this.names.add(leftover)
    if (leftover.scope === null) return
    const ofScope = this.#scopes.get(leftover.scope) ?? new LeftoverOrders()
    ofScope.set(leftover)
    this.#scopes.set(leftover.scope, ofScope)
  }

  /** Sets when a leftover is due, unless that is after `dueBefore`. Returns whether there was such a leftover. */
  defer({ attemptId, until, dueBefore, readableUntil }: DeferLeftoverCommand): boolean {
    const leftover = this.#byAttempt.get(attemptId)
    if (!leftover || isAfter(leftover.dueAt, dueBefore)) return false
    this.set({ ...leftover, dueAt: until, readableUntil: readableUntil ?? leftover.readableUntil })
    return true
  }

  /** Deletes the leftover of an attempt. Returns whether it existed. */
  forget(attemptId: string): boolean {
    const leftover = this.#byAttempt.get(attemptId)
    if (!leftover) return false
    this.#byAttempt.delete(attemptId)
    this.#all.delete(leftover)
    this.names.delete(leftover)
    if (leftover.scope === null) return true
    const ofScope = this.of(leftover.scope)
    ofScope?.delete(leftover)
    if (ofScope?.bySince.size === 0) this.#scopes.delete(leftover.scope)
    return true
  }
}
