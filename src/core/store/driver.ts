import type {
  Leftover,
  ObjectMetadata,
  ObjectReference,
  ObjectStatus,
  ScopeUsage,
  StorageObject,
  UsageDifference,
} from './records.js'
import type { MigrationResult } from './contract.js'

/**
 * The contract between the store and a database. `createStore(driver)` turns a driver into a public store.
 *
 * **Input.** A driver receives checked, complete input: strings are well formed and within their length, sizes are safe
 * integers, dates are between the years 1 and 9999, optional fields are `null` or their default, and the current time is
 * `now`. A driver never reads a clock.
 *
 * **Output.** Expected refusals are outcomes, not errors: the store turns them into a `StorageError`. A driver throws
 * `StorageError('DATABASE_UNAVAILABLE')` if its database can't be reached, and may throw anything if something is broken.
 * Returned rows are copies, so callers may change them.
 *
 * **Writes.** Each write MUST be atomic and MUST decide on the state at the moment of writing, under any number of
 * concurrent calls from several processes. There is no portable fallback: reading first and writing later loses updates.
 * After a crash a write has happened completely or not at all. Every write also changes, in the same atomic step, the
 * usage of each scope it affects, and records a {@link Leftover} for each attempt that ends with bytes or an upload in
 * the bucket (a row with a `storageKey` or an `uploadId`).
 *
 * The rules below are available as pure functions (`planReserve`, `planConfirm` …) from `@svc/db/adapter`. A driver that
 * decides elsewhere, in SQL for instance, MUST decide the same. `@svc/db/conformance` checks that it does.
 */
export interface StoreDriver {
  /**
   * The contract that the driver implements. Without it the driver counts as one of version 1.5: methods and input fields
   * marked "1.6" never reach it, and a call that needs one throws a `TypeError`.
   */
  readonly contract?: '1.6'

  /**
   * Returns rows of the scope with `id < before` (all rows if `before` is `null`), by `id` descending, at most `limit`.
   * MUST NOT read rows that it doesn't return: a page costs the same at any depth. The rows MUST be the state of one moment.
   * If `withMetadata` is `false`, a driver of 1.6 MUST return `null` as metadata, and SHOULD NOT read it.
   */
  list(query: ListQuery): Promise<StorageObject[]>
  /** Returns the number of rows with these statuses at one moment. MUST take constant time. */
  count(query: CountQuery): Promise<number>
  /** Returns the usage of the scope; zeros for an unknown scope. MUST take constant time. */
  usage(scope: string): Promise<ScopeUsage>
  /**
   * Returns the active row of the key, else the pending one, else the deleted one with the highest `id`. A row of another
   * scope than `scope` (`null` matches any) is not returned: it SHOULD NOT be read in full, because how long that takes
   * could reveal that the key exists. The store checks the scope again. The same holds for the next two methods.
   */
  find(query: FindQuery): Promise<StorageObject | null>
  /** Returns the active row of the key. */
  findActive(query: FindQuery): Promise<StorageObject | null>
  /** Returns the pending row of the key, if it has the given `id` and `uploadId` (`null` matches any). */
  findPending(query: FindPendingQuery): Promise<StorageObject | null>
  /** Returns the pending row of the key, if it has an `uploadId`, `declaredSize === fileSize` and `expiresAt > now`. */
  findPendingMultipart(query: FindPendingMultipartQuery): Promise<StorageObject | null>

  /**
   * Inserts the pending row of a new attempt, replacing the key's pending row, if there is one.
   *
   * Decides atomically whether the key is free, whether the attempt is new, and whether the scope has room. Refuses in
   * this order:
   * 1. `key-conflict`: another scope has an active row, or a pending row that has not expired, at the key.
   * 2. `reserved` with the existing row and no change: the key's pending row has this `id` (a repeated call).
   * 3. `reused` with field `id`: the active row's `id` or `attemptId` is this `id`, or an expired pending row of another
   *    scope has it.
   * 4. `reused` with field `storageKey`: the active or pending row has this `storageKey`.
   * 5. `key-conflict`: an active row exists and `overwrite` is `false`.
   * 6. `quota-exceeded`, for bytes before files: the change makes the scope grow, beyond its quota. See {@link QuotaExcess}.
   * 7. `sum-too-large`: `bytes + reservedBytes` of the scope would exceed `Number.MAX_SAFE_INTEGER`.
   *
   * Returns `reserved` with the new row. The pending row it replaced, which may be an expired one of another scope, ends as by
   * {@link release}; `scopes` then names both scopes.
   */
  reserve(command: ReserveCommand): Promise<ReserveOutcome>
  /**
   * Makes the pending row active, with the verified size, eTag and content type, in place of the active row, if there is one.
   * The row keeps the `id` and `createdAt` of the active row it replaces; the replaced bytes become a leftover.
   *
   * Decides atomically which attempt is confirmed and whether its growth beyond the reservation fits. Refuses in this order:
   * 1. `not-found`: `scope` is given, and the key has no live row of that scope.
   * 2. No pending row, or one whose `id` is not the given one: `confirmed` with the active row and no change if this call
   *    repeats an earlier confirm, otherwise `not-found`. It is a repeat if the active row has the same `size` and either
   *    the given `id` as its `attemptId` (and the same `eTag`, unless `eTag` is `null`) or, without an `id`, the same
   *    non-null `eTag`.
   * 3. `quota-exceeded`, then `sum-too-large`, as in {@link reserve}.
   *
   * An expired reservation can still be confirmed. Returns `confirmed` with the active row.
   */
  confirm(command: ConfirmCommand): Promise<ConfirmOutcome>
  /**
   * Sets the multipart upload id of the attempt `id`, once.
   *
   * Refuses in this order: `not-found` if the key's pending row has another `id` or is gone; `set` with the row and no change
   * if it has this `uploadId` already; `other-upload` if it has another one. Otherwise returns `set` with the changed row.
   */
  setUploadId(command: SetUploadIdCommand): Promise<SetUploadIdOutcome>
  /**
   * Deletes the pending row of the key, if `id`, `scope` and `uploadId` match (`null` matches any). The active row stays.
   * Returns the deleted row, or `null` if none matched. An expired row is deleted too.
   */
  release(command: ReleaseCommand): Promise<RowOutcome>
  /**
   * Removes the active row and the pending row of the key, if `scope` matches (`null` matches any). `soft` keeps the active row
   * as history, with status `deleted`; `hard` drops it. A pending row never becomes history.
   * 1.6: with an `attemptId`, acts only if the active row has it; if the pending row has it, deletes only that row;
   * otherwise as if nothing were there.
   * Returns the active row as it was removed (for `soft` with its new status); if only a pending row existed, that row;
   * `null` if nothing was there.
   */
  remove(command: RemoveCommand): Promise<RowOutcome>

  /** Returns pending rows with `expiresAt <= before`, by `(expiresAt, id)` ascending, after the position `after`. */
  listExpired(query: ListExpiredQuery): Promise<StorageObject[]>
  /**
   * Deletes the first `limit` rows of {@link listExpired}, each as by {@link release}. Exactly one of several concurrent calls
   * returns each row. MAY be atomic for each row rather than for all, and MAY skip a row that another call is working on.
   */
  purgeExpired(command: PurgeExpiredCommand): Promise<RowsOutcome>
  /** Returns leftovers by `(since, attemptId)` ascending, after the position `after`. 1.6: only of `scope`, if it is not `null`. */
  listLeftovers(query: ListLeftoversQuery): Promise<RecordedLeftover[]>
  /** Deletes the leftover of the attempt. Returns whether it existed. */
  forgetLeftover(attemptId: string): Promise<boolean>
  /**
   * 1.6: returns leftovers that have no `dueAt` or one up to and including `dueBefore`, by `(dueAt, attemptId)` ascending,
   * those without `dueAt` first, after the position `after`. MUST NOT read leftovers that it doesn't return.
   */
  listDueLeftovers?(query: ListDueLeftoversQuery): Promise<RecordedLeftover[]>
  /** 1.6: sets the `dueAt` of the leftover of the attempt. Returns whether it exists. */
  deferLeftover?(command: DeferLeftoverCommand): Promise<boolean>
  /**
   * Deletes history with `deletedAt <= before`, 1.6: only of `scope`, if it is not `null`. Deletes the earliest `deletedAt` first, then the lowest `id`, at most `limit` rows.
   * Returns the number of deleted rows. MAY be atomic for each row rather than for all, and MAY skip a row that another
   * call is working on.
   */
  purgeDeleted(command: PurgeDeletedCommand): Promise<PurgeDeletedOutcome>

  /** Creates or upgrades the schema. Idempotent, and safe to call from several processes at once. */
  migrate(): Promise<MigrationResult>
  /** Returns one sentence for each thing that is missing or differs in the database. Changes nothing. */
  verify(): Promise<string[]>
  /** Returns the scopes whose recorded usage differs from their rows; of one scope or, for `null`, of all. Changes nothing. */
  checkUsage(scope: string | null): Promise<UsageDifference[]>
  /** Corrects what {@link checkUsage} reports, and the counters behind {@link count}. Returns what it corrected. */
  repairUsage(scope: string | null): Promise<UsageDifference[]>
  /** Resolves if the database responds. */
  ping(): Promise<void>
  /** Closes what the adapter opened itself. */
  close(): Promise<void>
}

export interface ListQuery {
  readonly scope: string
  /** One status, or pending and active. */
  readonly statuses: readonly ObjectStatus[]
  readonly route: string | null
  /** Exclusive upper bound of `id`. */
  readonly before: string | null
  readonly limit: number
  readonly withMetadata: boolean
}

export interface CountQuery {
  readonly scope: string
  readonly statuses: readonly ObjectStatus[]
}

export interface FindQuery extends ObjectReference {
  readonly scope: string | null
}

export interface FindPendingQuery extends FindQuery {
  readonly id: string | null
  readonly uploadId: string | null
}

export interface FindPendingMultipartQuery extends ObjectReference {
  readonly fileSize: number
  readonly now: Date
}

/** A quota; `null` means unlimited. */
export interface QuotaLimits {
  readonly maxBytes: number | null
  readonly maxFiles: number | null
}

export interface ReserveCommand extends ObjectReference {
  readonly id: string
  readonly scope: string
  readonly declaredSize: number
  readonly expiresAt: Date
  readonly route: string | null
  readonly filename: string | null
  readonly contentType: string | null
  readonly metadata: ObjectMetadata | null
  readonly storageKey: string | null
  readonly uploadId: string | null
  readonly overwrite: boolean
  readonly quota: QuotaLimits
  readonly now: Date
}

export interface ConfirmCommand extends ObjectReference {
  readonly id: string | null
  readonly scope: string | null
  readonly size: number
  readonly eTag: string | null
  readonly contentType: string | null
  readonly quota: QuotaLimits
  readonly now: Date
}

export interface SetUploadIdCommand extends ObjectReference {
  readonly id: string
  readonly uploadId: string
  readonly now: Date
}

export interface ReleaseCommand extends ObjectReference {
  readonly id: string | null
  readonly scope: string | null
  readonly uploadId: string | null
  readonly now: Date
}

export interface RemoveCommand extends ObjectReference {
  readonly scope: string | null
  /** Always `null` for a driver of 1.5. */
  readonly attemptId: string | null
  readonly mode: 'soft' | 'hard'
  readonly now: Date
}

export interface ListExpiredQuery {
  readonly scope: string | null
  readonly before: Date
  readonly limit: number
  readonly after: { readonly expiresAt: Date; readonly id: string } | null
}

export interface PurgeExpiredCommand {
  readonly scope: string | null
  readonly before: Date
  readonly limit: number
  readonly now: Date
}

/** A leftover as drivers return it. A driver of 1.6 MUST return `scope` and `dueAt`. */
export type RecordedLeftover = Omit<Leftover, 'scope' | 'dueAt'> & Partial<Pick<Leftover, 'scope' | 'dueAt'>>

export interface ListLeftoversQuery {
  /** Always `null` for a driver of 1.5. */
  readonly scope: string | null
  readonly limit: number
  readonly after: { readonly since: Date; readonly attemptId: string } | null
}

export interface ListDueLeftoversQuery {
  readonly scope: string | null
  readonly dueBefore: Date
  readonly limit: number
  readonly after: { readonly dueAt: Date | null; readonly attemptId: string } | null
}

export interface DeferLeftoverCommand {
  readonly attemptId: string
  readonly until: Date
}

export interface PurgeDeletedCommand {
  /** Always `null` for a driver of 1.5. */
  readonly scope: string | null
  readonly before: Date
  readonly limit: number
}

/**
 * The scopes whose usage or counts a write may have changed, so that a cache can invalidate them. A write that finds its
 * work already done MUST still name the scope of the row it returns: the call that did the work may have been cut off
 * before it could report.
 */
interface Touched {
  readonly scopes: readonly string[]
}

/**
 * Why a quota refused a write. Bytes count as `bytes + reservedBytes`, files as `files + reservedFiles`. A write that
 * doesn't make the scope grow is never refused, so a scope over its quota can still shrink.
 */
export interface QuotaExcess {
  readonly limit: 'maxBytes' | 'maxFiles'
  /** The quota. */
  readonly max: number
  /** The usage before the write, reservations included. */
  readonly used: number
  /** The part of `used` that unfinished uploads hold. A driver of 1.6 MUST return it. */
  readonly reserved?: number
  /** By how much the write would grow it. */
  readonly requested: number
}

export type QuotaRefusal = { readonly outcome: 'quota-exceeded' } & QuotaExcess
/** `bytes + reservedBytes` of the scope would exceed `Number.MAX_SAFE_INTEGER`. */
export type SumRefusal = { readonly outcome: 'sum-too-large' }

export type ReserveRefusal =
  | { readonly outcome: 'key-conflict' }
  /** Another attempt at this key already uses the id or storage key. */
  | { readonly outcome: 'reused'; readonly field: 'id' | 'storageKey' }
  | QuotaRefusal
  | SumRefusal

export type ReserveOutcome =
  ({ readonly outcome: 'reserved'; readonly row: StorageObject } & Touched) | ReserveRefusal

export type ConfirmRefusal = { readonly outcome: 'not-found' } | QuotaRefusal | SumRefusal

export type ConfirmOutcome =
  ({ readonly outcome: 'confirmed'; readonly row: StorageObject } & Touched) | ConfirmRefusal

export type SetUploadIdOutcome =
  | ({ readonly outcome: 'set'; readonly row: StorageObject } & Touched)
  | { readonly outcome: 'not-found' }
  /** The attempt has another upload id already. */
  | { readonly outcome: 'other-upload' }

export interface RowOutcome extends Touched {
  readonly row: StorageObject | null
}

export interface RowsOutcome extends Touched {
  readonly rows: StorageObject[]
  /**
   * `true` if part of the call failed after it may have taken effect; `scopes` lacks what that part touched. This is not an
   * error of the whole call, because the rows that were removed must still be returned.
   */
  readonly isUncertain?: boolean
}

export interface PurgeDeletedOutcome extends Touched {
  readonly dropped: number
}
