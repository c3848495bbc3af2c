import type { ObjectMetadata, ObjectReference, ObjectStatus, StorageObject } from './records.js'

/** What a driver receives from the store, and what it returns. */

export type * from './event-commands.js'

export interface ListQuery {
  readonly scope: string
  /** One status, or pending and active. */
  readonly statuses: readonly ObjectStatus[]
  readonly route: string | null
  /** Exclusive upper bound of `id`. */
  readonly before: string | null
  readonly limit: number
  readonly withMetadata: boolean
  readonly fromPrimary: boolean
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
  readonly attemptId: string | null
  readonly mode: 'soft' | 'hard'
  readonly now: Date
}

export interface UpdateCommand extends ObjectReference {
  readonly scope: string | null
  readonly attemptId: string | null
  /** The fields to set, at least one. `null` clears a field, and a field that is left out keeps its value. */
  readonly changes: Partial<Pick<StorageObject, 'filename' | 'contentType' | 'metadata'>>
  readonly now: Date
}

export interface TransferCommand extends ObjectReference {
  readonly from: string
  readonly to: string
  readonly attemptId: string | null
  /** Limits the growth of `to`. */
  readonly quota: QuotaLimits
  readonly now: Date
}

export interface AdoptCommand extends ObjectReference {
  /** The id of the new row. It carries `createdAt`. */
  readonly id: string
  readonly scope: string
  readonly storageKey: string
  readonly size: number
  readonly createdAt: Date
  readonly eTag: string | null
  readonly route: string | null
  readonly filename: string | null
  readonly contentType: string | null
  readonly metadata: ObjectMetadata | null
  readonly now: Date
}

export interface FindByIdQuery {
  readonly id: string
  readonly scope: string | null
}

export interface ListScopesQuery {
  readonly limit: number
  /** Exclusive lower bound of the scope. */
  readonly after: string | null
}

export interface ListStoredQuery {
  readonly bucket: string
  readonly prefix: string | null
  /** Exclusive lower bound of the name. */
  readonly after: string | null
  readonly limit: number
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

export interface ListLeftoversQuery {
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
  readonly scope: string | null
  readonly before: Date
  readonly limit: number
}

/**
 * The scopes whose usage or counts a write may have changed, in any order, so that a cache can invalidate them. A write
 * that finds its work already done MUST still name the scope of the row it returns: the call that did the work may have
 * been cut off before it could report.
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
  /** The part of `used` that unfinished uploads hold. */
  readonly reserved: number
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

export type TransferRefusal = QuotaRefusal | SumRefusal

export type TransferOutcome =
  ({ readonly outcome: 'transferred'; readonly row: StorageObject | null } & Touched) | TransferRefusal

/** A live row or a leftover (`null`) names the bytes already. */
export interface KnownBytes {
  readonly outcome: 'known'
  readonly object: StorageObject | null
}

export type AdoptRefusal = { readonly outcome: 'key-conflict' } | SumRefusal

export type AdoptOutcome =
  | ({ readonly outcome: 'adopted'; readonly row: StorageObject } & Touched)
  | (KnownBytes & Touched)
  | AdoptRefusal

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
