import type { Maybe } from './maybe.js'
import type {
  Leftover,
  ObjectMetadata,
  ObjectReference,
  ObjectStatus,
  Quota,
  StorageObject,
} from './records.js'

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
  /** `true` reads from the primary, which has every acknowledged write, even if lists are served by a replica. Default `false`. */
  readonly fromPrimary?: Maybe<boolean>
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

interface UpdateTarget extends ObjectReference {
  readonly scope?: Maybe<string>
  /** Only this attempt: changes nothing if another one has taken its place. */
  readonly attemptId?: Maybe<string>
}

interface ObjectDescription {
  /** `null` clears it. */
  readonly filename: string | null | undefined
  /** `null` clears it. */
  readonly contentType: string | null | undefined
  /** Replaces the metadata as a whole. `null` clears it. */
  readonly metadata: ObjectMetadata | null | undefined
}

/** Requires one field to be named, and allows the others to be left out. */
type AtLeast<Name extends keyof ObjectDescription> = Pick<ObjectDescription, Name> &
  Partial<ObjectDescription>

/**
 * Sets at least one of `filename`, `contentType` and `metadata`. A field that is left out or `undefined` keeps its value.
 * One of the three must be named, even if its value may be `undefined`; a call in which all three are is refused.
 */
export type UpdateInput = UpdateTarget & (AtLeast<'filename'> | AtLeast<'contentType'> | AtLeast<'metadata'>)

export interface TransferInput extends ObjectReference {
  /** The owner. */
  readonly from: string
  /** The new owner. */
  readonly to: string
  /** Only this attempt: transfers nothing if another one has taken its place. */
  readonly attemptId?: Maybe<string>
  /** Limits the growth of `to`. Default: unlimited. */
  readonly quota?: Maybe<Quota>
}

export interface AdoptInput extends ObjectReference {
  readonly scope: string
  /** The key of the bytes in the bucket, 1..1024 bytes of UTF-8. From now on the library may delete them. */
  readonly storageKey: string
  /** Bytes, 0 to `Number.MAX_SAFE_INTEGER`. */
  readonly size: number
  /** Since when the bytes exist. Lists sort the object by it. */
  readonly createdAt: Date
  readonly eTag?: Maybe<string>
  readonly route?: Maybe<string>
  readonly filename?: Maybe<string>
  readonly contentType?: Maybe<string>
  readonly metadata?: Maybe<ObjectMetadata>
}

export interface AdoptResult {
  /** The object. If `known`, the live row that names the bytes, or `null` if a leftover does. */
  readonly object: StorageObject | null
  /** Whether a live row or a leftover named these bytes already. Then nothing has changed. */
  readonly known: boolean
}

export interface FindByIdInput {
  readonly id: string
  /** Returns `null` if the row belongs to another scope. */
  readonly scope?: Maybe<string>
}

export interface ListScopesInput {
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
  /** The last scope of the previous page. */
  readonly after?: Maybe<string>
}

export interface ListStoredInput {
  readonly bucket: string
  /** 1..1024 bytes of UTF-8. */
  readonly prefix?: Maybe<string>
  /** The last `storageKey` of the previous page. */
  readonly after?: Maybe<string>
  /** 1..1000. Default 100. A page may be longer, because items of one name are never split between two pages. */
  readonly limit?: Maybe<number>
}

export interface ClaimEventsInput {
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
  /** How long the claims last, in seconds, 1..3600. Default 60. */
  readonly claimSeconds?: Maybe<number>
  /** Only events of this object. Needs `key`. */
  readonly bucket?: Maybe<string>
  /** Only events of this object. Needs `bucket`. */
  readonly key?: Maybe<string>
}

/** An event to settle, such as a whole `StoredEvent`. Unknown fields are ignored, so a misspelled `retryAt` would remove the event. */
export interface SettleEventInput extends ExtendClaimInput {
  /** When to try again. Without it, the event is removed. */
  readonly retryAt?: Maybe<Date>
}

export interface ExtendClaimInput {
  readonly id: string
  readonly claim: string
}

export interface ExtendClaimsOptions {
  /** How long the claims last from now, in seconds, 1..3600. Default 60. */
  readonly claimSeconds?: Maybe<number>
}

export interface ListEventsInput {
  /** 1..1000. Default 100. */
  readonly limit?: Maybe<number>
  /** `next` of the previous page. */
  readonly after?: Maybe<string>
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
