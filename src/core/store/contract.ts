import type {
  Leftover,
  ObjectMetadata,
  ObjectPage,
  ObjectReference,
  ObjectStatus,
  Quota,
  ScopeUsage,
  StorageObject,
  UsageDifference,
} from './records.js'

/** In every input, `null` means the same as leaving the field out. */
type Maybe<T> = T | null | undefined

export interface ListByScopeInput {
  readonly scope: string
  /** Default: pending and active. */
  readonly status?: Maybe<ObjectStatus>
  /** Only objects of this upload route. Matches exactly. */
  readonly route?: Maybe<string>
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
  /** `nextCursor` of the previous page. */
  readonly cursor?: Maybe<string>
  /** `false` doesn't read the metadata: it is `null` in every row. Default `true`. */
  readonly withMetadata?: Maybe<boolean>
}

export interface FindInput extends ObjectReference {
  /** Returns `null` if the row belongs to another scope. */
  readonly scope?: Maybe<string>
}

export interface FindPendingInput extends FindInput {
  /** Only the attempt with this id. */
  readonly id?: Maybe<string>
  /** Only the multipart upload with this id. */
  readonly uploadId?: Maybe<string>
}

export interface FindPendingMultipartInput extends ObjectReference {
  /** Bytes. Must equal the `declaredSize` of the row. */
  readonly fileSize: number
}

export interface ReserveInput extends ObjectReference {
  readonly scope: string
  /** Bytes, 0 to `Number.MAX_SAFE_INTEGER`. */
  readonly declaredSize: number
  /** In the future, and not after the year 9999. */
  readonly expiresAt: Date
  readonly route?: Maybe<string>
  readonly filename?: Maybe<string>
  readonly contentType?: Maybe<string>
  readonly metadata?: Maybe<ObjectMetadata>
  /** The key of the bytes in the bucket, 1..1024 bytes of UTF-8. Only this attempt may ever use it. */
  readonly storageKey?: Maybe<string>
  readonly uploadId?: Maybe<string>
  /** `false` refuses a key that has an active row. Default `true`. */
  readonly overwrite?: Maybe<boolean>
  readonly quota?: Maybe<Quota>
  /**
   * The id of the attempt, from `createAttemptId()`. Pass one to know it before the call, or to make a retry idempotent: a
   * repeated call with the id of the pending row returns that row.
   */
  readonly id?: Maybe<string>
}

export interface ConfirmInput extends ObjectReference {
  /** Only this attempt. */
  readonly id?: Maybe<string>
  readonly scope?: Maybe<string>
  /** Verified bytes. */
  readonly size: number
  readonly eTag?: Maybe<string>
  /** Default: the content type of the attempt. */
  readonly contentType?: Maybe<string>
  /** Limits the growth beyond the reservation. */
  readonly quota?: Maybe<Quota>
}

export interface SetUploadIdInput extends ObjectReference {
  readonly id: string
  readonly uploadId: string
}

export interface ReleaseInput extends ObjectReference {
  readonly id?: Maybe<string>
  readonly scope?: Maybe<string>
  readonly uploadId?: Maybe<string>
}

export interface RemoveInput extends ObjectReference {
  readonly scope?: Maybe<string>
  /** Only this attempt: removes nothing if another one has taken its place. The id of a pending attempt removes only that row. */
  readonly attemptId?: Maybe<string>
  /** `soft` keeps the row as history, `hard` deletes it. Default `soft`. */
  readonly mode?: Maybe<'soft' | 'hard'>
}

export interface ListExpiredInput {
  readonly scope?: Maybe<string>
  /** Only reservations that expired by then. Default now, which is also the latest possible value. */
  readonly before?: Maybe<Date>
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
  /** The last item of the previous page. */
  readonly after?: Maybe<Pick<StorageObject, 'id' | 'expiresAt'>>
}

export type PurgeExpiredInput = Omit<ListExpiredInput, 'after'>

interface LeftoversInput {
  readonly scope?: Maybe<string>
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
}

/** Lists by `since`, then `attemptId`. */
export interface ListAllLeftoversInput extends LeftoversInput {
  readonly dueBefore?: null | undefined
  /** The last item of the previous page. */
  readonly after?: Maybe<Pick<Leftover, 'since' | 'attemptId'>>
}

/** Lists leftovers that were never put off, by `attemptId`; then those due by `dueBefore`, by `dueAt` and `attemptId`. */
export interface ListDueLeftoversInput extends LeftoversInput {
  /** Inclusive. */
  readonly dueBefore: Date
  /** The last item of the previous page. */
  readonly after?: Maybe<Pick<Leftover, 'dueAt' | 'attemptId'>>
}

export type ListLeftoversInput = ListAllLeftoversInput | ListDueLeftoversInput

export interface DeferLeftoverInput {
  readonly attemptId: string
  /** When the leftover is next worth a look. */
  readonly until: Date
}

export interface ForgetLeftoverInput {
  readonly attemptId: string
}

export interface PurgeDeletedInput {
  readonly scope?: Maybe<string>
  /** Only history with `deletedAt` up to and including this time. */
  readonly before: Date
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
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
 * Every call can reject with a `StorageError`: `VALIDATION_ERROR` for bad input (`params.field` names the field, and
 * nothing was sent to the database) or `DATABASE_UNAVAILABLE`. Further codes are listed at each method.
 */
export interface StorageObjectStore {
  /**
   * Lists the objects of a scope, newest first (by `id`). A page costs the same at any depth.
   * @throws StorageError `INVALID_CURSOR`
   */
  listByScope(input: ListByScopeInput): Promise<ObjectPage>
  /** Counts objects in constant time. Without `status`: pending and active. */
  countByScope(scope: string, status?: Maybe<ObjectStatus>): Promise<number>
  /** Returns the usage of a scope in constant time; zeros for an unknown scope. */
  getScopeUsage(scope: string): Promise<ScopeUsage>
  /** Returns the active row of a key, else the pending one, else the most recent deleted one. */
  find(input: FindInput): Promise<StorageObject | null>
  /** Returns the active row of a key. */
  findActive(input: FindInput): Promise<StorageObject | null>
  /** Returns the pending row of a key. */
  findPending(input: FindPendingInput): Promise<StorageObject | null>
  /** Returns the pending row of a key if it has an `uploadId`, declared this size and has not expired. */
  findPendingMultipart(input: FindPendingMultipartInput): Promise<StorageObject | null>

  /**
   * Starts an attempt and returns its pending row. Quota check and insert are one atomic step.
   * @throws StorageError `KEY_CONFLICT` if another scope uses the key, or if it is active and `overwrite` is `false`;
   * `QUOTA_EXCEEDED`
   */
  reserve(input: ReserveInput): Promise<StorageObject>
  /**
   * Makes the pending row active, with verified size, eTag and content type. Idempotent.
   * @throws StorageError `OBJECT_NOT_FOUND` if there is no such attempt; `QUOTA_EXCEEDED` if the object grew beyond its
   * reservation and the quota
   */
  confirm(input: ConfirmInput): Promise<StorageObject>
  /**
   * Sets the multipart upload id of an attempt, once.
   * @throws StorageError `OBJECT_NOT_FOUND` if the attempt has ended
   */
  setUploadId(input: SetUploadIdInput): Promise<StorageObject>
  /** Ends an attempt without an object. Returns the row it removed, or `null`. */
  release(input: ReleaseInput): Promise<StorageObject | null>
  /** Removes the active row and a pending replacement. A key with only a pending row is released. Returns the removed row, or `null`. */
  remove(input: RemoveInput): Promise<StorageObject | null>

  /** Lists expired reservations, earliest expiry first, then by `id`. Changes nothing. */
  listExpired(input?: ListExpiredInput): Promise<StorageObject[]>
  /**
   * Removes expired reservations and returns them. Of several concurrent calls, exactly one returns each row. Refuses
   * unknown fields, because a misspelled filter would remove too much.
   */
  purgeExpired(input?: PurgeExpiredInput): Promise<StorageObject[]>
  /** Lists leftovers, oldest first (by `since`, then `attemptId`), or those that are due, if `dueBefore` is given. */
  listLeftovers(input?: ListLeftoversInput): Promise<Leftover[]>
  /** Deletes a leftover. Call it only once nothing is in the bucket and nothing can arrive any more. Returns whether it existed. */
  forgetLeftover(input: ForgetLeftoverInput): Promise<boolean>
  /** Puts a leftover off: until then, lists with `dueBefore` leave it out. Returns whether it exists. */
  deferLeftover(input: DeferLeftoverInput): Promise<boolean>
  /**
   * Deletes history, earliest deletion first, then lowest `id`, and returns the number of rows. Refuses unknown fields,
   * because a misspelled filter would delete too much.
   */
  purgeDeleted(input: PurgeDeletedInput): Promise<number>

  /** Creates or upgrades the schema in the database. Idempotent, and safe to call from several processes at once. */
  migrate(): Promise<MigrationResult>
  /** Returns one sentence for each thing that is missing or differs in the database. Empty if all is well. Changes nothing. */
  verify(): Promise<string[]>
  /** Compares the recorded usage of one scope, or of all, with the rows. Returns the scopes that differ and changes nothing. */
  checkUsage(scope?: Maybe<string>): Promise<UsageDifference[]>
  /** Corrects what `checkUsage` reports, and the counters behind `countByScope`. Returns what it corrected. */
  repairUsage(scope?: Maybe<string>): Promise<UsageDifference[]>
  /** Resolves if the database responds. */
  ping(): Promise<void>
  /** Closes the connections that the adapter opened itself. */
  close(): Promise<void>
}
