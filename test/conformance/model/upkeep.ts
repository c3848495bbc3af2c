import type { Leftover, StorageObject } from '../../../src/core/store/records.js'
import type {
  DeferLeftoverInput,
  ForgetLeftoverInput,
  ListAllLeftoversInput,
  ListDueLeftoversInput,
  ListExpiredInput,
  ListLeftoversInput,
  PurgeDeletedInput,
  PurgeExpiredInput,
} from '../../../src/core/store/contract.js'
import { badFields } from '../input-checks.js'
import type { Expected } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import type { ModelRow } from './rows.js'
import {
  DEFAULT_LIMIT,
  compare,
  compareDueLeftovers,
  compareExpiry,
  compareLeftovers,
  isForeign,
  recordOf,
} from './rows.js'
import type { ModelRejection } from './state.js'
import { UploadModel } from './uploads.js'

/** What ends without a caller: expired reservations, leftovers and history. */
export class UpkeepModel extends UploadModel {
  listExpired(input?: ListExpiredInput): Expected<StorageObject[]> {
    const bad = badFields('listExpired', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const after = input?.after
    const found = this.expired(input).filter((row) => after == null || compareExpiry(row, after) > 0)
    return ok(found.slice(0, input?.limit ?? DEFAULT_LIMIT).map(recordOf))
  }

  purgeExpired(input?: PurgeExpiredInput): Expected<StorageObject[]> {
    const bad = badFields('purgeExpired', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const dropped = this.expired(input).slice(0, input?.limit ?? DEFAULT_LIMIT)
    for (const row of dropped) this.drop(row)
    return ok(dropped.map(recordOf))
  }

  listLeftovers(input?: ListLeftoversInput): Expected<Leftover[]> {
    const bad = badFields('listLeftovers', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const found = this.leftovers.filter((each) => input?.scope == null || each.scope === input.scope)
    const listed = input?.dueBefore == null ? allAfter(found, input) : dueAfter(found, input)
    return ok(listed.slice(0, input?.limit ?? DEFAULT_LIMIT))
  }

  deferLeftover(input: DeferLeftoverInput): Expected<boolean> {
    const bad = badFields('deferLeftover', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const { attemptId, until, dueBefore, readableUntil } = input
    const isMeant = ({ dueAt, ...each }: Leftover) =>
      each.attemptId === attemptId && (dueBefore == null || dueAt === null || dueAt <= dueBefore)
    const isThere = this.leftovers.some(isMeant)
    const deferred = (each: Leftover) => ({
      ...each,
      dueAt: until,
      readableUntil: readableUntil ?? each.readableUntil,
    })
    this.leftovers = this.leftovers.map((each) => (isMeant(each) ? deferred(each) : each))
    return ok(isThere)
  }

  forgetLeftover(input: ForgetLeftoverInput): Expected<boolean> {
    const bad = badFields('forgetLeftover', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const before = this.leftovers.length
    this.leftovers = this.leftovers.filter((leftover) => leftover.attemptId !== input.attemptId)
    return ok(this.leftovers.length < before)
  }

  purgeDeleted(input: PurgeDeletedInput): Expected<number> {
    const bad = badFields('purgeDeleted', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const dropped = this.history(input).slice(0, input.limit ?? DEFAULT_LIMIT)
    for (const row of dropped) this.drop(row)
    this.forgetRejections(input)
    return ok(dropped.length)
  }

  // The single steps of purges, for the check of concurrent calls

  /** Returns the expired rows that a purge drops, earliest expiry first. */
  expired(input?: PurgeExpiredInput): ModelRow[] {
    const before = input?.before
    return this.rows
      .filter((row) => this.hasExpired(row) && !isForeign(row, input?.scope))
      .filter((row) => before == null || row.writableUntil <= before)
      .sort(compareExpiry)
  }

  /** Forgets the rejections that a purge of history names. */
  forgetRejections({ id, before, scope }: PurgeDeletedInput): void {
    if (id != null) return
    const isNamed = (one: ModelRejection) => (scope == null || one.scope === scope) && one.at <= before
    this.rejections = this.rejections.filter((one) => !isNamed(one))
  }

  /** Returns the history that a purge drops, oldest deletion first. */
  history({ id, before, scope }: PurgeDeletedInput): ModelRow[] {
    return this.rows
      .filter((row) => row.deletedAt !== null && !isForeign(row, scope))
      .filter((row) => before == null || row.deletedAt! <= before)
      .filter((row) => id == null || row.id === id)
      .sort((a, b) => compare(a.deletedAt, b.deletedAt) || compare(a.id, b.id))
  }
}

function allAfter(leftovers: readonly Leftover[], input: ListAllLeftoversInput | undefined): Leftover[] {
  const after = input?.after
  return leftovers
    .filter((leftover) => after == null || compareLeftovers(leftover, after) > 0)
    .sort(compareLeftovers)
}

function dueAfter(leftovers: readonly Leftover[], { dueBefore, after }: ListDueLeftoversInput): Leftover[] {
  return leftovers
    .filter(({ dueAt }) => dueAt === null || dueAt <= dueBefore)
    .filter((leftover) => after == null || compareDueLeftovers(leftover, after) > 0)
    .sort(compareDueLeftovers)
}
