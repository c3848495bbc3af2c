import type { StorageObject } from './records.js'

/**
 * The scopes whose usage or counts a write may have changed, in any order, so that a cache can invalidate them. A write
 * that finds its work already done MUST still name the scope of the row it returns: the call that did the work may have
 * been cut off before it could report.
 */
interface Touched {
  readonly scopes: readonly string[]
}

/**
 * The write would make the scope grow beyond this limit of its quota. Bytes count as `bytes + reservedBytes`, files as
 * `files + reservedFiles`. A write that doesn't make the scope grow is never refused, so a scope over its quota can still
 * shrink.
 */
export interface QuotaRefusal {
  readonly outcome: 'maxBytes' | 'maxFiles'
  /** The limit. */
  readonly max: number
  /** The usage before the write, reservations included. */
  readonly used: number
  /** The part of `used` that unfinished uploads hold. */
  readonly reserved: number
  /** By how much the write would grow it. */
  readonly requested: number
}

/** `bytes + reservedBytes` of the scope would exceed `Number.MAX_SAFE_INTEGER`. */
export interface SumRefusal {
  readonly outcome: 'sum'
}

export type ReserveRefusal =
  | { readonly outcome: 'key-conflict' }
  /** Another attempt at this key already uses the id. */
  | { readonly outcome: 'reused-id' }
  /** Another attempt at this key already uses the storage key. */
  | { readonly outcome: 'reused-storage-key' }
  | QuotaRefusal
  | SumRefusal

export type ReserveOutcome =
  ({ readonly outcome: 'reserved'; readonly row: StorageObject } & Touched) | ReserveRefusal

export type ConfirmRefusal = { readonly outcome: 'not-found' } | QuotaRefusal | SumRefusal

export type ConfirmOutcome =
  ({ readonly outcome: 'confirmed'; readonly row: StorageObject } & Touched) | ConfirmRefusal

export type SetUploadIdRefusal =
  | { readonly outcome: 'not-found' }
  /** The attempt has another upload id already. */
  | { readonly outcome: 'other-upload' }

export type SetUploadIdOutcome =
  ({ readonly outcome: 'set'; readonly row: StorageObject } & Touched) | SetUploadIdRefusal

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

/** Why a write was refused. */
export type Refusal = ReserveRefusal | ConfirmRefusal | SetUploadIdRefusal | TransferRefusal | AdoptRefusal

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
