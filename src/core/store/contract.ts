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

/** In every input `null` means the same as leaving the field out. */
type Maybe<T> = T | null | undefined

export interface ListByScopeInput {
  readonly scope: string
  /** Default: pending and active. */
  readonly status?: Maybe<ObjectStatus>
  /** Exact route name. */
  readonly route?: Maybe<string>
  /** 1..1000, default 100. */
  readonly limit?: Maybe<number>
  /** `nextCursor` of the page before. */
  readonly cursor?: Maybe<string>
}

export interface FindPendingInput extends ObjectReference {
  /** Only the attempt of this id. */
  readonly id?: Maybe<string>
  /** Only the multipart upload of this id. */
  readonly uploadId?: Maybe<string>
}

export interface FindPendingMultipartInput extends ObjectReference {
  /** Bytes; equals the `declaredSize` of the row that is found. */
  readonly fileSize: number
}

export interface ReserveInput extends ObjectReference {
  readonly scope: string
  /** Bytes, 0 to `Number.MAX_SAFE_INTEGER`. */
  readonly declaredSize: number
  /** In the future, at most the year 9999. */
  readonly expiresAt: Date
  readonly route?: Maybe<string>
  readonly filename?: Maybe<string>
  readonly contentType?: Maybe<string>
  readonly metadata?: Maybe<ObjectMetadata>
  /** A key in the bucket that only this attempt ever uses, 1..1024 bytes of UTF-8. */
  readonly storageKey?: Maybe<string>
  readonly uploadId?: Maybe<string>
  /** `false` refuses a key that has an active row. Default `true`. */
  readonly overwrite?: Maybe<boolean>
  readonly quota?: Maybe<Quota>
  /** From `createAttemptId()`, to know the attempt beforehand; a repeat with the id of the pending row returns that row. */
  readonly id?: Maybe<string>
}

export interface ConfirmInput extends ObjectReference {
  /** Only this attempt. */
  readonly id?: Maybe<string>
  readonly scope?: Maybe<string>
  /** Verified bytes. */
  readonly size: number
  readonly eTag?: Maybe<string>
  /** Default: the attempt's. */
  readonly contentType?: Maybe<string>
  /** Compared with what the object grows beyond its reservation. */
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
  /** `soft` keeps the row as history, `hard` drops it. Default `soft`. */
  readonly mode?: Maybe<'soft' | 'hard'>
}

export interface ListExpiredInput {
  readonly scope?: Maybe<string>
  /** Latest expiry taken. Default now; a later one counts as now. */
  readonly before?: Maybe<Date>
  /** 1..1000, default 100. */
  readonly limit?: Maybe<number>
  /** The last item of the page before. */
  readonly after?: Maybe<Pick<StorageObject, 'id' | 'expiresAt'>>
}

export type PurgeExpiredInput = Omit<ListExpiredInput, 'after'>

export interface ListLeftoversInput {
  /** 1..1000, default 100. */
  readonly limit?: Maybe<number>
  /** The last item of the page before. */
  readonly after?: Maybe<Pick<Leftover, 'since' | 'attemptId'>>
}

export interface ForgetLeftoverInput {
  readonly attemptId: string
}

export interface PurgeDeletedInput {
  /** Latest `deletedAt` dropped. */
  readonly before: Date
  /** 1..1000, default 100. */
  readonly limit?: Maybe<number>
}

/** Schema versions before and after `migrate()`; 0 where there was nothing, and for stores that need no schema. */
export interface MigrationResult {
  readonly from: number
  readonly to: number
}

/**
 * Tracks the objects of a bucket. All calls are safe under concurrency from several processes, and atomic: after a
 * crash each has happened wholly or not at all (purges and `repairUsage` row by row or scope by scope).
 *
 * Every call may reject with `StorageError` `VALIDATION_ERROR` (bad input, `params.field` names it; nothing was sent to
 * the database) and `DATABASE_UNAVAILABLE`. What else a call rejects with is said at the call.
 */
export interface StorageObjectStore {
  /** Newest created first (by `id`). One page costs the same at any depth. Rejects with `INVALID_CURSOR`. */
  listByScope(input: ListByScopeInput): Promise<ObjectPage>
  /** Constant time. `status` left out: pending and active. */
  countByScope(scope: string, status?: Maybe<ObjectStatus>): Promise<number>
  /** Constant time; zeros for a scope never seen. */
  getScopeUsage(scope: string): Promise<ScopeUsage>
  /** The active row, else the pending one, else the newest deleted one. */
  find(reference: ObjectReference): Promise<StorageObject | null>
  findActive(reference: ObjectReference): Promise<StorageObject | null>
  findPending(input: FindPendingInput): Promise<StorageObject | null>
  /** The pending row with an `uploadId` that announced this size and has not lapsed. */
  findPendingMultipart(input: FindPendingMultipartInput): Promise<StorageObject | null>

  /**
   * Begins an attempt; resolves to its pending row. Quota and insert are one atomic step.
   * Rejects with `KEY_CONFLICT` (live in another scope, or active and `overwrite: false`) and `QUOTA_EXCEEDED`.
   */
  reserve(input: ReserveInput): Promise<StorageObject>
  /**
   * Makes the pending row active, with verified fields. May be repeated.
   * Rejects with `OBJECT_NOT_FOUND`, and with `QUOTA_EXCEEDED` where it grows beyond what was reserved.
   */
  confirm(input: ConfirmInput): Promise<StorageObject>
  /** Sets the upload id of an attempt, once. Rejects with `OBJECT_NOT_FOUND` where that attempt has ended. */
  setUploadId(input: SetUploadIdInput): Promise<StorageObject>
  /** Ends an attempt without its object; resolves to the row that was removed. */
  release(input: ReleaseInput): Promise<StorageObject | null>
  /** Removes the active row and any pending replacement; a key that is only pending is released. */
  remove(input: RemoveInput): Promise<StorageObject | null>

  /** Lapsed reservations, earliest expiry first, then by `id`. Changes nothing. */
  listExpired(input?: ListExpiredInput): Promise<StorageObject[]>
  /** Drops lapsed reservations; each is returned to exactly one of the processes that do this at once. */
  purgeExpired(input?: PurgeExpiredInput): Promise<StorageObject[]>
  /** What may still lie in the bucket without a row, oldest first (by `since`, then `attemptId`). */
  listLeftovers(input?: ListLeftoversInput): Promise<Leftover[]>
  /** To be called once nothing is there and nothing can be written any more. Resolves to whether there was one. */
  forgetLeftover(input: ForgetLeftoverInput): Promise<boolean>
  /** Drops history, the earliest deletion first; resolves to the number of rows dropped. */
  purgeDeleted(input: PurgeDeletedInput): Promise<number>

  /** Creates or upgrades what the adapter needs in its database. Idempotent; any number of processes may call it at once. */
  migrate(): Promise<MigrationResult>
  /** Changes nothing; lists what is missing or differs in the database. Empty: all is well. */
  verify(): Promise<string[]>
  /** Compares usage with the rows of one scope or of all; reports the scopes that differ, changes nothing. */
  checkUsage(scope?: Maybe<string>): Promise<UsageDifference[]>
  /** Corrects what `checkUsage` would report (and the counters behind `countByScope`), and reports it. */
  repairUsage(scope?: Maybe<string>): Promise<UsageDifference[]>
  /** Resolves if the database answers. */
  ping(): Promise<void>
  /** Closes only what the adapter opened itself. */
  close(): Promise<void>
}
