import type { StorageObject } from './records.js'

/** A write that may end the expired reservation of another scope. */
interface Touched {
  /**
   * The scopes whose usage the write may have changed, in any order. A usage cache forgets them at once. Left out, it forgets only
   * those of the command and of the returned row, and shows the usage of another scope for up to its `ttlSeconds`.
   */
  readonly scopes?: readonly string[]
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

/** The attempt was rejected less than an hour ago. */
export interface RejectedRefusal {
  readonly outcome: 'rejected'
  readonly reason: string | null
}

export type ConfirmRefusal = { readonly outcome: 'not-found' } | RejectedRefusal | QuotaRefusal | SumRefusal

/** The active row or, with `arrivedAt`, the arrived one, and how it came about. */
export interface Confirmed {
  readonly outcome: 'confirmed'
  readonly row: StorageObject
  /** Whether an earlier confirm brought the row about, so that this one changed nothing. */
  readonly isRepeat: boolean
  /** The active row that this confirm replaced. `null` if there was none, for a repeat, and for an arrival, which replaces none. */
  readonly replaced: StorageObject | null
}

export type ConfirmOutcome = Confirmed | ConfirmRefusal

export type SetUploadIdRefusal =
  | { readonly outcome: 'not-found' }
  /** The attempt has another upload id already. */
  | { readonly outcome: 'other-upload' }

export type SetUploadIdOutcome = { readonly outcome: 'set'; readonly row: StorageObject } | SetUploadIdRefusal

/**
 * The metadata would have more than 64 entries, or else names and values of more than 16,384 bytes of UTF-8. A driver compares the
 * entries first.
 */
export interface MetadataRefusal {
  readonly outcome: 'metadata-entries' | 'metadata-bytes'
  /** The number of entries or of bytes. */
  readonly got: number
}

export type UpdateOutcome =
  { readonly outcome: 'updated'; readonly row: StorageObject | null } | MetadataRefusal

export type TransferRefusal = { readonly outcome: 'key-conflict' } | QuotaRefusal | SumRefusal

export type TransferOutcome =
  { readonly outcome: 'transferred'; readonly row: StorageObject | null } | TransferRefusal

/** A live row or a leftover (`null`) names the bytes already. */
export interface KnownBytes {
  readonly outcome: 'known'
  readonly object: StorageObject | null
}

export type AdoptRefusal = { readonly outcome: 'key-conflict' } | SumRefusal

export type AdoptOutcome =
  ({ readonly outcome: 'adopted'; readonly row: StorageObject } & Touched) | KnownBytes | AdoptRefusal

/** Why a write was refused. */
export type Refusal =
  ReserveRefusal | ConfirmRefusal | SetUploadIdRefusal | MetadataRefusal | TransferRefusal | AdoptRefusal

export interface RowOutcome {
  readonly row: StorageObject | null
}

export interface RowsOutcome {
  readonly rows: StorageObject[]
  /**
   * `true` if part of the call failed after it may have taken effect, so that a usage cache can't know all scopes. This is not an
   * error of the whole call, because the rows that were removed must still be returned.
   */
  readonly isUncertain?: boolean
}

/** Two of the objects, at these indexes, are the same row. */
export interface RepeatedObject {
  readonly outcome: 'repeated'
  readonly index: number
  readonly earlier: number
}

/** The objects at these indexes, in ascending order, name no row. */
export interface MissingObjects {
  readonly outcome: 'missing'
  readonly indexes: readonly number[]
}

export type KeepOutcome =
  | {
      readonly outcome: 'kept'
      /** In the order of the objects. */
      readonly rows: StorageObject[]
    }
  | RepeatedObject
  | MissingObjects

export interface PurgeDeletedOutcome {
  readonly dropped: number
}
