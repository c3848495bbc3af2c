import type { EventCounts, EventPage, StoredEvent } from './events.js'
import type * as inputs from './inputs/index.js'
import type {
  Leftover,
  ObjectPage,
  ObjectStatus,
  ScopeSummary,
  ScopeUsage,
  StorageObject,
  StoredItem,
  UsageDifference,
} from './records.js'

export type * from './inputs/index.js'

export interface AdoptResult {
  /** The object. If `known`, the live row that names the bytes, or `null` if a leftover does. */
  readonly object: StorageObject | null
  /** Whether a live row or a leftover named these bytes already. Then nothing has changed. */
  readonly known: boolean
}

export interface EndTemporaryResult {
  /** The rows that were removed, as `remove` returns them, in the order given. */
  readonly removed: StorageObject[]
  /** The number of the others. */
  readonly kept: number
}

export interface MigrateOptions {
  /** Ends the call, which rejects with the signal's reason. A later call continues. */
  readonly signal?: AbortSignal | null | undefined
  /**
   * Called while the migration waits, and then every 10 seconds: on Postgres for another transaction, on MongoDB for an index that is
   * being built.
   */
  readonly onProgress?: ((progress: MigrationProgress) => unknown) | null | undefined
}

export interface MigrationProgress {
  /** A sentence for operators, which names the session or the indexes. */
  readonly waitingFor: string
}

/** Schema versions before and after `migrate()`. 0 for an empty database, and for stores without a schema. */
export interface MigrationResult {
  readonly from: number
  readonly to: number
}

/**
 * Tracks the objects of a bucket. Create one with an adapter such as `postgresAdapter(pool)`.
 *
 * Every call is atomic and safe under concurrency, across processes: after a crash it has happened completely or not at
 * all. Purges are atomic per row, and `repairUsage` is atomic per scope.
 *
 * Every call can reject with a `StorageError`: `VALIDATION_ERROR` for bad input or an unknown field (`params.field` names the field,
 * and nothing was sent to the database; the fields of a record are known everywhere, so whole rows can be passed) or `DATABASE_UNAVAILABLE`. Further codes are listed at each method.
 */
export interface StorageObjectStore {
  /**
   * Lists the objects of a scope, newest first (by `id`). A page costs the same at any depth.
   * @throws StorageError `INVALID_CURSOR`
   *
   * @example
   * const { objects, nextCursor } = await store.listByScope({ scope, status: 'active', limit: 50 })
   */
  listByScope(input: inputs.ListByScopeInput): Promise<ObjectPage>
  /**
   * Iterates over the objects of a scope, newest first (by `id`), page by page: what {@link listByScope} lists with its defaults.
   * Memory holds one page. A row that is there all the time comes once, whatever others write meanwhile; one that is created,
   * removed or transferred meanwhile may be missing. Each row is as it was when its page was read.
   *
   * The first step rejects with `VALIDATION_ERROR` for bad input, and any step with the reason of `signal`.
   *
   * @example
   * for await (const { key } of store.iterateByScope({ scope, status: 'active' })) console.log(key)
   */
  iterateByScope(input: inputs.IterateByScopeInput): AsyncIterable<StorageObject>
  /**
   * Counts objects in constant time. Without `status`: pending and active.
   *
   * @example
   * const active = await store.countByScope(scope, 'active')
   */
  countByScope(scope: string, status?: ObjectStatus | null): Promise<number>
  /**
   * Returns the usage of a scope in constant time; zeros for an unknown scope.
   *
   * @example
   * const { bytes, reservedBytes, files } = await store.getScopeUsage(scope)
   */
  getScopeUsage(scope: string): Promise<ScopeUsage>
  /**
   * Returns the active row of a key, else the pending one, else the most recent deleted one.
   *
   * @example
   * const row = await store.find({ bucket, key, scope })
   */
  find(input: inputs.FindInput): Promise<StorageObject | null>
  /**
   * Returns the active row of a key.
   *
   * @example
   * const object = await store.findActive({ bucket, key })
   */
  findActive(input: inputs.FindInput): Promise<StorageObject | null>
  /**
   * Returns the pending row of a key.
   *
   * @example
   * const upload = await store.findPending({ bucket, key, scope })
   */
  findPending(input: inputs.FindPendingInput): Promise<StorageObject | null>
  /**
   * Returns the pending row of a key if it has an `uploadId`, declared this size and has not expired.
   *
   * @example
   * const upload = await store.findPendingMultipart({ bucket, key, fileSize: 50_000_000 })
   */
  findPendingMultipart(input: inputs.FindPendingMultipartInput): Promise<StorageObject | null>
  /**
   * Returns the row with this id, live before deleted. A replacement in progress has the id of its attempt; once it is
   * confirmed, only the id of the object finds it.
   *
   * @example
   * const row = await store.findById({ id, scope })
   */
  findById(input: inputs.FindByIdInput): Promise<StorageObject | null>
  /**
   * Lists the scopes with their usage and number of rows, in byte order of the scope; with `prefix`, those that start with
   * it. A scope that holds nothing any more may appear with zeros. A page costs the same at any depth.
   *
   * @example
   * const scopes = await store.listScopes({ prefix: 'acme:', limit: 1000 })
   */
  listScopes(input?: inputs.ListScopesInput): Promise<ScopeSummary[]>
  /**
   * Lists what names bytes in a bucket: live rows and leftovers, by `storageKey` (`key` for those without one) in byte order.
   * Compare it with a listing of the bucket. A page costs the same at any depth.
   *
   * @example
   * const items = await store.listStored({ bucket, limit: 1000 })
   */
  listStored(input: inputs.ListStoredInput): Promise<StoredItem[]>

  /**
   * Starts an attempt and returns its pending row. Quota check and insert are one atomic step. `temporarySeconds` and `checkSeconds`
   * are stored with the attempt and apply no matter which process confirms it.
   * @throws StorageError `KEY_CONFLICT` if another scope uses the key, or if it is active or has an arrived attempt and `overwrite` is
   * `false`; `QUOTA_EXCEEDED`
   *
   * @example
   * const expiresAt = new Date(Date.now() + 3_600_000)
   * const pending = await store.reserve({ bucket, key, scope, filename: 'a.png', declaredSize: 1024, expiresAt, quota: { maxFiles: 100 } })
   */
  reserve(input: inputs.ReserveInput): Promise<StorageObject>
  /**
   * Makes the pending row active, with verified size, eTag and content type. Idempotent.
   *
   * An attempt with `checkSeconds` becomes arrived instead: its row stays pending, with `arrivedAt`, and the active row of the key
   * stays. Once its bytes are checked, confirm it again with `accept: true`, or {@link reject} it.
   * @throws StorageError `OBJECT_NOT_FOUND` if there is no such attempt, or none has arrived that `accept` names; `UPLOAD_REJECTED` if
   * this attempt (`id`) was rejected less than an hour ago (`params.reason`, if there was one); `QUOTA_EXCEEDED` if the object grew
   * beyond its reservation and the quota
   *
   * @example
   * const object = await store.confirm({ bucket, key, id: attemptId, size: 1024, eTag: '"9a0364b9"' })
   */
  confirm(input: inputs.ConfirmInput): Promise<StorageObject>
  /**
   * Sets the multipart upload id of an attempt, once.
   * @throws StorageError `OBJECT_NOT_FOUND` if the attempt has ended
   *
   * @example
   * await store.setUploadId({ bucket, key, id: attemptId, uploadId: '2~VmVGYw' })
   */
  setUploadId(input: inputs.SetUploadIdInput): Promise<StorageObject>
  /**
   * Ends an attempt without an object, also an arrived one unless `unlessArrived` is set. Returns the row it removed, or `null`.
   *
   * @example
   * const released = await store.release({ bucket, key, id: attemptId })
   */
  release(input: inputs.ReleaseInput): Promise<StorageObject | null>
  /**
   * Removes the active row and a pending replacement. A key with only a pending row is released. Returns the removed row, or `null`.
   *
   * @example
   * const removed = await store.remove({ bucket, key, scope, mode: 'soft' })
   */
  remove(input: inputs.RemoveInput): Promise<StorageObject | null>
  /**
   * Sets the filename, content type, metadata, eTag or end of the active row. Returns the row, or `null` if nothing is active there for
   * that scope and attempt, or its end has passed. Bytes and an upload in progress stay. Without a difference `updatedAt` stays too.
   *
   * `metadata` replaces all names. `setMetadata` changes those that it has, so that several writers don't erase each other's.
   * @throws StorageError `VALIDATION_ERROR` (`setMetadata`) if more than 64 names or 16 KiB would be left
   *
   * @example
   * await store.update({ bucket, key, attemptId, setMetadata: { scan: 'clean', shared: null } })
   */
  update(input: inputs.UpdateInput): Promise<StorageObject | null>
  /**
   * Gives an object to another owner. Returns the active row, also if `to` has it already, or `null` if neither scope has it, or
   * its end has passed. An upload in progress at the key ends, and an end that lies ahead stays. Download URLs stay valid until they
   * expire.
   * @throws StorageError `KEY_CONFLICT` if an attempt has arrived at the key and waits for its check; `QUOTA_EXCEEDED`
   *
   * @example
   * await store.transfer({ bucket, key, from: 'user:ann', to: 'org:acme' })
   */
  transfer(input: inputs.TransferInput): Promise<StorageObject | null>
  /**
   * Records bytes that are in the bucket already as an object, or as the bytes of an object of this scope and key that
   * has no `storageKey`. Changes nothing if a live row or a leftover names the bytes. No quota applies.
   * @throws StorageError `KEY_CONFLICT` if another object, an upload in progress or an arrived attempt has the key
   *
   * @example
   * const { object, known } = await store.adopt({ bucket, key, scope, storageKey: key, size: 1024, createdAt: new Date() })
   */
  adopt(input: inputs.AdoptInput): Promise<AdoptResult>

  /**
   * Clears the end of temporary objects, so that they stay, and returns their rows in the order given. Clears all or, if one is missing,
   * none. An object without an end stays as it is. An arrived attempt, named by its id, becomes permanent once it is accepted.
   * @throws StorageError `OBJECT_NOT_FOUND` if one is no active object of this scope before its end and no arrived attempt, or has another
   * attempt: `params.missing` has the indexes of all such objects, separated by commas
   *
   * @example
   * await store.keep({ scope, objects: form.fileIds.map((id) => ({ id })) })
   */
  keep(input: inputs.KeepInput): Promise<StorageObject[]>
  /**
   * Lists active objects with an end up to and including `before`, earliest end first, then by `id`. Changes nothing.
   *
   * @example
   * const ended = await store.listTemporary({ limit: 100 })
   */
  listTemporary(input?: inputs.ListTemporaryInput): Promise<StorageObject[]>
  /**
   * Removes temporary objects, as they were listed, and clears the end of those in `keep`. Each is atomic. Acts only where the version and
   * the end that were listed still hold, and removes nothing sooner than 60 seconds after its end. An upload in progress at the key
   * goes on.
   *
   * @example
   * const { removed } = await store.endTemporary({ objects: await store.listTemporary({ limit: 100 }) })
   */
  endTemporary(input: inputs.EndTemporaryInput): Promise<EndTemporaryResult>
  /**
   * Lists arrived attempts, those whose time for the check is over first (by `expiresAt`, then `id`). Changes nothing.
   *
   * @example
   * const late = await store.listArrived({ dueBefore: new Date(), limit: 100 })
   */
  listArrived(input?: inputs.ListArrivedInput): Promise<StorageObject[]>
  /**
   * Ends an arrived attempt whose bytes have failed their check, and returns its row. Its bytes become a leftover. For an hour, `confirm` of
   * this attempt rejects with `UPLOAD_REJECTED`.
   * @throws StorageError `OBJECT_NOT_FOUND` if this attempt has not arrived, or has ended
   *
   * @example
   * await store.reject({ bucket, key, id: attemptId, reason: 'Contains a virus.' })
   */
  reject(input: inputs.RejectInput): Promise<StorageObject>

  /**
   * Claims events, the earliest due first, so that no other caller gets them until the claims expire. An object's events come
   * one at a time, in the order of its changes. Settle each event once its work is done. With `lastScopes`, owners take turns.
   *
   * @example
   * const events = await store.claimEvents({ limit: 10, claimSeconds: 60 })
   */
  claimEvents(input?: inputs.ClaimEventsInput): Promise<StoredEvent[]>
  /**
   * Removes claimed events, or schedules a retry. At most 1000. Returns the ids that were settled. One is missing if its claim no
   * longer held, or if the database failed after others had been settled: settle it again.
   *
   * @example
   * const settled = await store.settleEvents(await store.claimEvents({ limit: 10 }))
   */
  settleEvents(entries: readonly inputs.SettleEventInput[]): Promise<string[]>
  /**
   * Extends claims from now on. At most 1000. Returns the ids whose claim still held.
   *
   * @example
   * const held = await store.extendClaims(await store.claimEvents({ limit: 10 }), { claimSeconds: 600 })
   */
  extendClaims(
    entries: readonly inputs.ExtendClaimInput[],
    options?: inputs.ExtendClaimsOptions,
  ): Promise<string[]>
  /**
   * Lists events, roughly in the order of recording. Changes nothing.
   * @throws StorageError `INVALID_CURSOR`
   *
   * @example
   * const { items, next } = await store.listEvents({ limit: 100 })
   */
  listEvents(input?: inputs.ListEventsInput): Promise<EventPage>
  /**
   * Counts events. Reads all of them, so it is for operators.
   *
   * @example
   * console.log(await store.countEvents())
   */
  countEvents(): Promise<EventCounts>

  /**
   * Lists expired reservations, earliest expiry first, then by `id`. Arrived attempts are not among them. Changes nothing.
   *
   * @example
   * const expired = await store.listExpired({ before: new Date(), limit: 100 })
   */
  listExpired(input?: inputs.ListExpiredInput): Promise<StorageObject[]>
  /**
   * Removes expired reservations and returns them, in the order of {@link listExpired}. Of several concurrent calls, exactly one
   * returns each row. Refuses a field of a record that is no filter here, unless the input has its `id`.
   *
   * @example
   * const purged = await store.purgeExpired({ limit: 100 })
   */
  purgeExpired(input?: inputs.PurgeExpiredInput): Promise<StorageObject[]>
  /**
   * Lists leftovers, oldest first (by `since`, then `attemptId`), or those that are due, if `dueBefore` is given.
   *
   * @example
   * const due = await store.listLeftovers({ dueBefore: new Date(), limit: 100 })
   */
  listLeftovers(input?: inputs.ListLeftoversInput): Promise<Leftover[]>
  /**
   * Deletes a leftover. Call it only once nothing is in the bucket and nothing can arrive any more. Returns whether it existed.
   *
   * @example
   * const existed = await store.forgetLeftover({ attemptId })
   */
  forgetLeftover(input: inputs.ForgetLeftoverInput): Promise<boolean>
  /**
   * Puts a leftover off: until then, lists with `dueBefore` leave it out. Returns whether it exists. With `dueBefore`, only if it is
   * in that list: of several runs that put it off past that date, exactly one gets `true`, and works on it. `readableUntil` says when no
   * download URL reads the bytes any more, for `cleanUp` to remove them then.
   *
   * @example
   * await store.deferLeftover({ attemptId, until: new Date(Date.now() + 3_600_000) })
   */
  deferLeftover(input: inputs.DeferLeftoverInput): Promise<boolean>
  /**
   * Deletes history up to the date `before`, or of the object with this `id`, and returns the number of rows. All filters that
   * are given apply. Deletes the earliest deletion first, then the lowest `id`. Refuses a field of a record that is no filter
   * here, unless the input has an `id`. Without an `id`, it also forgets which attempts were rejected up to that date.
   *
   * @example
   * await store.purgeDeleted({ id, scope }) // one object
   * await store.purgeDeleted({ before: new Date('2026-01-01') }) // all owners
   */
  purgeDeleted(input: inputs.PurgeDeletedInput): Promise<number>

  /**
   * Creates or upgrades the schema in the database. Idempotent, and safe to call from several processes at once.
   *
   * @example
   * await store.migrate({ onProgress: ({ waitingFor }) => console.log(waitingFor) })
   */
  migrate(options?: MigrateOptions | null): Promise<MigrationResult>
  /**
   * Returns one sentence for each thing that is missing or differs in the database. Empty if all is well. Changes nothing.
   *
   * @example
   * for (const sentence of await store.verify()) console.error(sentence)
   */
  verify(): Promise<string[]>
  /**
   * Compares the recorded usage of one scope, or of all, with the rows. Returns the scopes that differ and changes nothing.
   *
   * @example
   * const differences = await store.checkUsage(scope)
   */
  checkUsage(scope?: string | null): Promise<UsageDifference[]>
  /**
   * Corrects what `checkUsage` reports, and the counters behind `countByScope`. Returns what it corrected.
   *
   * @example
   * const corrected = await store.repairUsage()
   */
  repairUsage(scope?: string | null): Promise<UsageDifference[]>
  /**
   * Resolves if the database responds.
   *
   * @example
   * await store.ping()
   */
  ping(): Promise<void>
  /**
   * Closes the connections that the adapter opened itself.
   *
   * @example
   * await store.close()
   */
  close(): Promise<void>
}
