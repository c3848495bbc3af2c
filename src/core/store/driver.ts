import type { MigrateOptions, MigrationResult } from './contract.js'
import type { EventCounts, EventPage, SettledEvent, StoredEvent } from './events.js'
import type * as inputs from './inputs/index.js'
import type * as outcomes from './outcomes.js'
import type {
  Leftover,
  ScopeSummary,
  ScopeUsage,
  StorageObject,
  StoredItem,
  UsageDifference,
} from './records.js'

export type * from './inputs/index.js'
export type * from './outcomes.js'
export type { QuotaLimits } from './validation/checks.js'

/**
 * The contract between the store and a database. `createStore(driver)` turns a driver into a public store.
 *
 * **Input.** A driver receives checked, complete input: strings are well formed and within their length, sizes are safe
 * integers, dates are between the years 1 and 9999, optional fields are `null` or their default, and the current time is
 * `now`. A driver never reads a clock.
 *
 * **Output.** Expected refusals are outcomes, not errors: the store turns them into a `StorageError`. A driver throws
 * `StorageError('DATABASE_UNAVAILABLE')` if its database can't be reached, and may throw anything if something is broken.
 * Returned rows are copies, so callers may change them. They have all fields of their type and no others.
 *
 * **Writes.** Each write MUST be atomic and MUST decide on the state at the moment of writing, under any number of
 * concurrent calls from several processes. There is no portable fallback: reading first and writing later loses updates.
 * After a crash a write has happened completely or not at all. Every write also changes, in the same atomic step, the
 * usage of each scope it affects, and records a {@link Leftover} for each attempt that ends with bytes or an upload in
 * the bucket (a row with a `storageKey` or an `uploadId`).
 *
 * **Ends.** An active row with a `temporaryUntil` is *past its end* from that moment on (`temporaryUntil <= now`). It stays where it is,
 * counts and is returned by reads, until a write removes it. `temporaryUntil` is `null` in pending and deleted rows.
 *
 * **Terms.** With a pending row, a driver MUST store the `temporarySeconds` and `checkSeconds` of its attempt (see `TrackedRow`), which no
 * read returns. They apply no matter which process confirms it. A date computed from them is capped at the last millisecond of the year 9999.
 *
 * **Arrived attempts.** A pending row with an `arrivedAt` waits for a verdict. It has `size`, `declaredSize`, a `storageKey`, no `uploadId`,
 * and `expiresAt` as the end of the time for its check. It never counts as expired, whatever its `expiresAt`. It reserves its
 * `size` instead of its `declaredSize`.
 *
 * **Events.** A driver MUST record, if events are on, the `event` of a change in the same atomic step.
 * Whether they are on is stored in the database by {@link migrate}. The events of an object are in the order in which the
 * database made the changes, across removal and recreation, whatever the clocks of the processes say.
 *
 * The rules below are available as a pure function, `decide` of `@svc/db/adapter`. A driver that decides elsewhere, in SQL
 * for instance, MUST decide the same. `@svc/db/conformance` checks that it does.
 */
export interface StoreDriver {
  /**
   * Returns rows of the scope with `id < before` (all rows if `before` is `null`), by `id` descending, at most `limit`.
   * MUST NOT read rows that it doesn't return: a page costs the same at any depth. The rows MUST be the state of one moment.
   * If `withMetadata` is `false`, it MUST return `null` as metadata, and SHOULD NOT read it. The rows may lag
   * behind acknowledged writes, as those of a replica do, unless `fromPrimary` is `true`.
   */
  list(query: inputs.ListQuery): Promise<StorageObject[]>
  /** Returns the number of rows with these statuses at one moment. MUST take constant time. */
  count(query: inputs.CountQuery): Promise<number>
  /** Returns the usage of the scope; zeros for an unknown scope. MUST take constant time. */
  usage(scope: string): Promise<ScopeUsage>
  /**
   * Returns the active row of the key, else the pending one, else the deleted one with the highest `id`. A row of another
   * scope than `scope` (`null` matches any) is not returned: it SHOULD NOT be read in full, because how long that takes
   * could reveal that the key exists. The store checks the scope again. The same holds for the next two methods.
   */
  find(query: inputs.FindQuery): Promise<StorageObject | null>
  /** Returns the active row of the key. */
  findActive(query: inputs.FindQuery): Promise<StorageObject | null>
  /** Returns the pending row of the key, if it has the given `id` and `uploadId` (`null` matches any). */
  findPending(query: inputs.FindPendingQuery): Promise<StorageObject | null>
  /** Returns the pending row of the key, if it has an `uploadId`, `declaredSize === fileSize` and `expiresAt > now`. */
  findPendingMultipart(query: inputs.FindPendingMultipartQuery): Promise<StorageObject | null>

  /**
   * Inserts the pending row of a new attempt, replacing the key's pending row, if there is one.
   *
   * Decides atomically whether the key is free, whether the attempt is new, and whether the scope has room. Refuses in
   * this order:
   * 1. `key-conflict`: another scope has an active row, a pending row that has not expired, or an arrived one, at the key.
   * 2. `reserved` with the existing row and no change: the key's pending row has this `id` (a repeated call).
   * 3. `reused-id`: the active row's `id` or `attemptId` is this `id`, or an expired pending row of another
   *    scope has it.
   * 4. `reused-storage-key`: the active or pending row has this `storageKey`.
   * 5. `key-conflict`: an active row or an arrived attempt exists and `overwrite` is `false`.
   * 6. `maxBytes`, then `maxFiles`: the change makes the scope grow beyond this limit of its quota. See `QuotaRefusal`.
   * 7. `sum`: `bytes + reservedBytes` of the scope would exceed `Number.MAX_SAFE_INTEGER`.
   *
   * Returns `reserved` with the new row. The pending row it replaced, which may be an expired one of another scope, ends as by
   * {@link release}; `scopes` then names both scopes.
   */
  reserve(command: inputs.ReserveCommand): Promise<outcomes.ReserveOutcome>
  /**
   * Makes the pending row active, with the verified size, eTag and content type, in place of the active row, if there is one.
   * The row keeps the `id` and `createdAt` of the active row it replaces; the replaced bytes become a leftover. If the attempt
   * has `temporarySeconds`, and the key has no active row or one with a `temporaryUntil`, the row's `temporaryUntil` is that many
   * seconds after `now`; otherwise it is `null`.
   *
   * If the attempt has `checkSeconds` instead, marks the pending row as arrived: sets `arrivedAt` and `updatedAt` to `now`, `expiresAt` to
   * that many seconds after `now`, `size`, `eTag` and content type, and `uploadId` to `null`. The active row stays. Records the event
   * `arrived`, with the active row as `previous`. A later call with `accept` makes it active, as above. It keeps the `eTag` of the
   * arrival, and the content type unless one is given. No quota applies to it, because the attempt has reserved its size.
   *
   * A call *matches* a row if it has the same `size` and either the row's `attemptId` as its `id` (and the same `eTag`, unless
   * `eTag` is `null`) or, without an `id`, the same non-null `eTag`.
   *
   * Decides atomically which attempt is confirmed and whether its growth beyond the reservation fits. Refuses in this order:
   * 1. `not-found`: `scope` is given, and the key has no live row of that scope.
   * 2. With `accept`: makes the pending row active if it has arrived and matches. Otherwise `confirmed` with the active row and no change
   *    if that matches (a repeated call), else `not-found`.
   * 3. The pending row has arrived, or none exists, or its `id` is not the given one: `confirmed` with no change and the arrived row or
   *    else the active row, whichever matches (a repeated call). If neither does, `not-found`.
   * 4. `maxBytes`, then `sum`, as in {@link reserve}.
   *
   * Instead of `not-found` it MUST return `rejected` with the reason if `accept` is `false`, `id` names an attempt that was rejected at
   * this key (see {@link reject}) less than an hour before `now`, and `scope` is the scope of that attempt or `null`; whatever the
   * key's rows are now. A driver MAY look for it in a second step, after the refusal.
   *
   * An expired reservation can still be confirmed. Returns `confirmed` with the active or arrived row. Of concurrent calls for one
   * attempt, exactly one MUST return `isRepeat: false`, and of those that accept it, too. An arrived row that becomes active is no
   * repeat.
   */
  confirm(command: inputs.ConfirmCommand): Promise<outcomes.ConfirmOutcome>
  /**
   * Sets the multipart upload id of the attempt `id`, once.
   *
   * Refuses in this order: `not-found` if the key's pending row has another `id`, has arrived or is gone; `set` with the row and no change
   * if it has this `uploadId` already; `other-upload` if it has another one. Otherwise returns `set` with the changed row.
   */
  setUploadId(command: inputs.SetUploadIdCommand): Promise<outcomes.SetUploadIdOutcome>
  /**
   * Deletes the pending row of the key, if `id`, `scope` and `uploadId` match (`null` matches any). The active row stays.
   * Returns the deleted row, or `null` if none matched. An expired row is deleted too, and an arrived one, without an event. With
   * `unlessArrived`, an arrived row does not match.
   */
  release(command: inputs.ReleaseCommand): Promise<outcomes.RowOutcome>
  /**
   * Removes the active row and the pending row of the key, if `scope` matches (`null` matches any). `soft` keeps the active row
   * as history, with status `deleted` and without a `temporaryUntil`; `hard` drops it. A pending row never becomes history. Rows past
   * their end and arrived attempts are removed like others.
   * With an `attemptId`, acts only if the active row has it; if the pending row has it, deletes only that row;
   * otherwise as if nothing were there.
   * Returns the active row as it was removed (for `soft` with its new status); if only a pending row existed, that row;
   * `null` if nothing was there.
   */
  remove(command: inputs.RemoveCommand): Promise<outcomes.RowOutcome>
  /**
   * Sets fields of the active row of the key, if `scope` and `attemptId` match (`null` matches any). If a field differs
   * (metadata is compared by names and values), also sets `updatedAt`; otherwise nothing changes. Bytes, usage and the pending
   * row stay. `temporarySeconds` sets `temporaryUntil` to that many seconds after `now`, and `null` clears it. A row past its end is
   * not matched.
   *
   * `setMetadata` MUST be applied to the metadata at the moment of writing: it sets its names and removes those with `null`. Where
   * no name is left, the metadata is `null`. Refuses `metadata-entries`, then `metadata-bytes`, if what is left exceeds a limit.
   *
   * Returns `updated` with the active row, or with `null` if none matched.
   */
  update(command: inputs.UpdateCommand): Promise<outcomes.UpdateOutcome>
  /**
   * Gives the active row of the key to the scope `to`, and sets `updatedAt`. The pending row of the key ends as by
   * {@link release}. `id`, `attemptId`, `storageKey`, `createdAt`, `confirmedAt` and history rows stay.
   *
   * The active row is *found* if it has the scope `from` or `to`, is not past its end, and has the given `attemptId` (`null` matches
   * any). Its `temporaryUntil` stays. Decides in this order:
   * 1. `transferred` with the row and no change: it is found, and its scope is `to` already.
   * 2. `key-conflict`: the scope `from` has an arrived attempt at the key, and the active row is found, or the given `attemptId` is `null`
   *    or that of the attempt.
   * 3. `transferred` with `null` and no change: the row is not found.
   * 4. `maxBytes`, `maxFiles`, then `sum`, as in {@link reserve}, for the bytes and the file that `to` gains.
   *
   * Returns `transferred` with the active row; `scopes` names both scopes.
   */
  transfer(command: inputs.TransferCommand): Promise<outcomes.TransferOutcome>
  /**
   * Records bytes that are in the bucket already as an active row, without a quota. A row or leftover names bytes by its
   * `storageKey` or, if that is `null`, by its `key`, within its bucket.
   *
   * Decides in this order. `receiver` is the active row of this scope and key, if its `storageKey` is `null`:
   * 1. `adopted` with the row and no change: the live row that names the bytes has the given `id` (a repeated call).
   * 2. `known` with the live row that names the bytes, unless it is the receiver. Of several, an active one before a pending one,
   *    then the one with the lowest `key`, in byte order.
   * 3. `known` with `null`: a leftover names the bytes.
   * 4. `key-conflict`: the key has an active row that is not the receiver, a pending row that has not expired, or an arrived one.
   * 5. `sum`, as in {@link reserve}.
   *
   * Otherwise an expired pending row, which may be another scope's, ends as by {@link release}. The receiver gets the
   * `storageKey` and a new `updatedAt`; without a receiver, a new active row is inserted, with the `id` as its `attemptId`
   * and `now` as `updatedAt` and `confirmedAt`. Nothing can write to the bytes: `writableUntil` of a new row is `now`.
   * The receiver's `temporaryUntil` stays. Returns `adopted` with the row.
   */
  adopt(command: inputs.AdoptCommand): Promise<outcomes.AdoptOutcome>

  /**
   * Clears the end of all objects, or of none. Each names a row of this scope: the active row, not past its end, whose `id` or
   * `attemptId` is the given `id`, or the arrived attempt with this `id`. With an `attemptId`, only if the row has it. If several rows
   * have the id, which callers can bring about only by using one id twice, it MAY name any of them.
   *
   * Decides in this order:
   * 1. `repeated`: two objects name the same row. The lowest `index` of one that names a row which an `earlier` one names.
   * 2. `missing`: an object names no row. Has the indexes of all such objects.
   *
   * Otherwise sets `temporaryUntil` of each active row that has one to `null` and its `updatedAt` to `now`, and records `updated`. Removes
   * the `temporarySeconds` of an arrived attempt, so that it stays once it is accepted; its row does not change. An active row
   * without an end does not change either. Returns `kept` with the rows in the order of the objects. MUST lock keys in an order
   * that is the same for all calls.
   */
  keep(command: inputs.KeepCommand): Promise<outcomes.KeepOutcome>
  /**
   * Returns active rows with `temporaryUntil <= before`, by `(temporaryUntil, id)` ascending, after the position `after`. Only of `scope`,
   * if it is not `null`. MUST NOT read rows that it doesn't return.
   */
  listTemporary(query: inputs.ListTemporaryQuery): Promise<StorageObject[]>
  /**
   * For each object, decides on the active row of its key at the moment of writing:
   * 1. Nothing changes if there is none, or if its `id`, `attemptId` or `temporaryUntil` differ from those of the object. Scopes are not compared.
   * 2. If `isKept`: sets `temporaryUntil` to `null` and `updatedAt` to `now`, and records `updated`.
   * 3. If its `temporaryUntil` is at most `endedBy`: removes it as by {@link remove} with this `mode`. The pending row of the key stays.
   *
   * Returns the removed rows, in the order of the objects. MUST be atomic for each object; MAY skip one that another call is
   * working on, or that the database protects.
   */
  endTemporary(command: inputs.EndTemporaryCommand): Promise<outcomes.RowsOutcome>
  /**
   * Returns arrived attempts with `expiresAt <= dueBefore` (all if it is `null`), by `(expiresAt, id)` ascending, after the position
   * `after`. Only of `scope`, if it is not `null`. MUST NOT read rows that it doesn't return.
   */
  listArrived(query: inputs.ListArrivedQuery): Promise<StorageObject[]>
  /**
   * Ends the arrived attempt `id` of the key as by {@link release}, if `scope` matches (`null` matches any), records the event `rejected`
   * with the pending row and the reason, and remembers the rejection for an hour: the id, key and scope of the attempt, `now` and the
   * reason, in place of an earlier one of the same id. {@link confirm} looks at it. Returns the row, or `null` if none matched.
   * SHOULD delete rejections that are older than an hour, and MUST NOT read all of them to do so.
   */
  reject(command: inputs.RejectCommand): Promise<outcomes.RowOutcome>

  /**
   * Returns the row with this `id` and `scope` (`null` matches any): the live one before the deleted one. A pending
   * replacement has the id of its attempt; once it is confirmed, only the object's `id` finds it.
   */
  findById(query: inputs.FindByIdQuery): Promise<StorageObject | null>
  /**
   * Returns the scopes that start with `prefix` and come after `after`, in byte order of their UTF-8, at most `limit`. MUST
   * return each such scope that has a row, and MAY return one that had rows, with zeros. A page MUST cost the same at any
   * depth, at any number of scopes and with any prefix.
   */
  listScopes(query: inputs.ListScopesQuery): Promise<ScopeSummary[]>
  /**
   * Returns the live rows and the leftovers of the bucket whose name (`storageKey` or, if that is `null`, `key`) starts with
   * `prefix` and comes after `after`, in byte order of the names. Returns at least `limit` items if there are as many, and
   * then all further items with the name of the last one; items with the same name come in any order. MUST NOT read
   * rows or leftovers beyond these. If `withMetadata` is `false`, it MUST return `null` as metadata, and SHOULD NOT read it.
   */
  listStored(query: inputs.ListStoredQuery): Promise<StoredItem[]>

  /**
   * Claims up to `limit` events until `until`, the earliest `dueAt` first. Claims an event if its `dueAt` is at most `now`
   * and it is the oldest of its object, so at most one event per object. Exactly one of several concurrent calls claims it. A
   * claim sets `dueAt` and `claimedUntil` to `until` and adds 1 to `attempts`; it replaces an expired claim. Its token MUST differ
   * from that of every other claim, also of the other events of the call. `hasNext` MUST count every event of the object that was
   * recorded before the call. With `attempted`, claims only events whose `attempts`
   * are above 0 (`true`) or 0 (`false`). MUST take the same time however many events wait, also of the other kind. MAY skip an
   * event that another call is working on.
   *
   * Events whose `object.scope` is one of `lastScopes` come after those of all other scopes. To find the others, MUST search the
   * 250 events of each kind that are due first, and MUST NOT search more than a few times as many.
   */
  claimEvents(command: inputs.ClaimEventsCommand): Promise<StoredEvent[]>
  /**
   * Ends claims that still hold: the last claim of the event has this token, even if it has expired. Without `retryAt` the
   * event is removed, which makes the next event of its object the oldest; with it, the claim ends and `dueAt` is
   * `retryAt`. Each entry is atomic. Returns the events whose claim held. Their `hasNext` MUST count every later event of the object that
   * was recorded while the claim still held: no other caller could claim it then, so none looks for it. Ignores ids and claims
   * that it doesn't know. Rejects only if it has settled none: a rejection has no room for the others.
   */
  settleEvents(command: inputs.SettleEventsCommand): Promise<SettledEvent[]>
  /** Sets the end of claims that still hold, as in {@link settleEvents}, to `until`. Returns their ids. */
  extendClaims(command: inputs.ExtendClaimsCommand): Promise<string[]>
  /**
   * Returns events in a stable order, roughly that of recording. Changes nothing. `next` is `null` on the last page, and
   * otherwise the position of the last event of the page: 1 to 100 ASCII characters of the driver's choice, of which the
   * store makes the cursor.
   * @throws StorageError `INVALID_CURSOR` if `after` can't be a position
   */
  listEvents(query: inputs.ListEventsQuery): Promise<EventPage>
  /** Counts all events. */
  countEvents(query: inputs.CountEventsQuery): Promise<EventCounts>
  /** Returns whether events are on. */
  recordsEvents(): Promise<boolean>

  /**
   * Returns pending rows with `expiresAt <= before`, by `(expiresAt, id)` ascending, after the position `after`. Arrived attempts are not
   * among them, and MUST NOT be read.
   */
  listExpired(query: inputs.ListExpiredQuery): Promise<StorageObject[]>
  /**
   * Deletes the first `limit` rows of {@link listExpired}, each as by {@link release}, and returns them in that order. Exactly one
   * of several concurrent calls returns each row. MAY be atomic for each row rather than for all, and MAY skip a row that
   * another call is working on.
   */
  purgeExpired(command: inputs.PurgeExpiredCommand): Promise<outcomes.RowsOutcome>
  /** Returns leftovers by `(since, attemptId)` ascending, after the position `after`. Only of `scope`, if it is not `null`. */
  listLeftovers(query: inputs.ListLeftoversQuery): Promise<Leftover[]>
  /** Deletes the leftover of the attempt. Returns whether it existed. */
  forgetLeftover(attemptId: string): Promise<boolean>
  /**
   * Returns leftovers that have no `dueAt` or one up to and including `dueBefore`, by `(dueAt, attemptId)` ascending,
   * those without `dueAt` first, after the position `after`. MUST NOT read leftovers that it doesn't return.
   */
  listDueLeftovers(query: inputs.ListDueLeftoversQuery): Promise<Leftover[]>
  /**
   * Sets the `dueAt` of the leftover of the attempt and, unless it is `null`, its `readableUntil`. Changes neither if its `dueAt` is after
   * `dueBefore` (`null` matches any). Returns whether there was such a leftover. Of concurrent calls that put off a leftover past their
   * `dueBefore`, exactly one MUST return `true`.
   */
  deferLeftover(command: inputs.DeferLeftoverCommand): Promise<boolean>
  /**
   * Deletes history with `deletedAt <= before`, only of `scope` and with this `id`, if they are not `null`. Never deletes a
   * live row. Deletes the earliest `deletedAt` first, then the lowest `id`, at most `limit` rows. Returns the number of deleted
   * rows. MAY be atomic for each row rather than for all, and MAY skip a row that another call is working on. With an `id`, MUST
   * NOT read the history of other objects. Without an `id`, also deletes all rejections up to `before`, only of `scope` if it is not
   * `null`; the limit and the number are those of history only.
   */
  purgeDeleted(command: inputs.PurgeDeletedCommand): Promise<outcomes.PurgeDeletedOutcome>

  /**
   * Creates or upgrades the schema. Idempotent, and safe to call from several processes at once. Versions are integers. If the
   * driver has a schema, the version before the first call is 0.
   */
  migrate(options?: MigrateOptions): Promise<MigrationResult>
  /** Returns one sentence for each thing that is missing or differs in the database. Changes nothing. Works before {@link migrate}. */
  verify(): Promise<string[]>
  /** Returns the scopes whose recorded usage differs from their rows; of one scope or, for `null`, of all. Changes nothing. */
  checkUsage(scope: string | null): Promise<UsageDifference[]>
  /** Corrects what {@link checkUsage} reports, and the counters behind {@link count}. Returns what it corrected. */
  repairUsage(scope: string | null): Promise<UsageDifference[]>
  /** Resolves if the database responds. Works before {@link migrate}. */
  ping(): Promise<void>
  /** Closes what the adapter opened itself. */
  close(): Promise<void>
}
