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
 * What an adapter implements; `createStore(driver)` makes the public store of it.
 *
 * A driver gets checked and complete input: every string within its length and well formed, every size a safe integer,
 * every date between the years 1 and 9999, nothing optional (what the caller left out is `null` or the default), and the
 * time as `now`; it reads no clock. It never throws a `StorageError` for what the contract foresees: it answers with an
 * outcome, and the store makes the error. It throws `StorageError('DATABASE_UNAVAILABLE')` where its database can't be
 * reached, and may throw anything where something is broken.
 *
 * Each write MUST be atomic and MUST decide on what is there at the moment of writing, under any number of concurrent
 * calls from several processes; there is no fallback that only looks atomic. What each write decides is what
 * `@svc/db/conformance` holds a store to; drivers within this library share those rules (`lifecycle.ts`), and one that
 * decides elsewhere (in SQL, say) MUST decide the same.
 */
export interface StoreDriver {
  /** Rows with `id < before` (all, if `null`), by `id` descending, at most `limit`. MUST NOT read rows that it doesn't return. */
  list(query: ListQuery): Promise<StorageObject[]>
  /** Number of rows of these statuses. MUST take constant time. */
  count(query: CountQuery): Promise<number>
  /** MUST take constant time, and answer zeros for a scope never seen. */
  usage(scope: string): Promise<ScopeUsage>
  find(reference: ObjectReference): Promise<StorageObject | null>
  findActive(reference: ObjectReference): Promise<StorageObject | null>
  findPending(query: FindPendingQuery): Promise<StorageObject | null>
  findPendingMultipart(query: FindPendingMultipartQuery): Promise<StorageObject | null>

  reserve(command: ReserveCommand): Promise<ReserveOutcome>
  confirm(command: ConfirmCommand): Promise<ConfirmOutcome>
  setUploadId(command: SetUploadIdCommand): Promise<SetUploadIdOutcome>
  release(command: ReleaseCommand): Promise<RowOutcome>
  remove(command: RemoveCommand): Promise<RowOutcome>

  /** Pending rows with `expiresAt <= before`, by `(expiresAt, id)`, after that position. */
  listExpired(query: ListExpiredQuery): Promise<StorageObject[]>
  /** Removes such rows, each returned by exactly one call. MAY be atomic row by row, and MAY pass over a row that another call works on. */
  purgeExpired(command: PurgeExpiredCommand): Promise<RowsOutcome>
  /** By `(since, attemptId)`, after that position. */
  listLeftovers(query: ListLeftoversQuery): Promise<Leftover[]>
  forgetLeftover(attemptId: string): Promise<boolean>
  /** The earliest deletion first, then by `id`. MAY be atomic row by row, and MAY pass over a row that another call works on. */
  purgeDeleted(command: PurgeDeletedCommand): Promise<PurgeDeletedOutcome>

  migrate(): Promise<MigrationResult>
  verify(): Promise<string[]>
  checkUsage(scope: string | null): Promise<UsageDifference[]>
  repairUsage(scope: string | null): Promise<UsageDifference[]>
  ping(): Promise<void>
  close(): Promise<void>
}

export interface ListQuery {
  readonly scope: string
  /** One status, or pending and active. */
  readonly statuses: readonly ObjectStatus[]
  readonly route: string | null
  readonly before: string | null
  readonly limit: number
}

export interface CountQuery {
  readonly scope: string
  readonly statuses: readonly ObjectStatus[]
}

export interface FindPendingQuery extends ObjectReference {
  readonly id: string | null
  readonly uploadId: string | null
}

export interface FindPendingMultipartQuery extends ObjectReference {
  readonly fileSize: number
  readonly now: Date
}

/** A quota with `null` for what is unlimited. */
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

export interface ListLeftoversQuery {
  readonly limit: number
  readonly after: { readonly since: Date; readonly attemptId: string } | null
}

export interface PurgeDeletedCommand {
  readonly before: Date
  readonly limit: number
}

/**
 * Every write names the scopes whose usage or counts it may have changed, so that a cache can forget just these. One that
 * answers with a row because it finds its work done MUST name the scope of that row all the same: the call that did the
 * work may have lost its answer, and then nobody else tells the cache.
 */
interface Touched {
  readonly scopes: readonly string[]
}

/** The sum as it is, and by how much the call would have grown it. Bytes or files, as `limit` says. */
export interface QuotaExcess {
  readonly limit: 'maxBytes' | 'maxFiles'
  readonly max: number
  readonly used: number
  readonly requested: number
}

export type QuotaRefusal = { readonly outcome: 'quota-exceeded' } & QuotaExcess
/** `bytes + reservedBytes` of the scope would pass `Number.MAX_SAFE_INTEGER`. */
export type SumRefusal = { readonly outcome: 'sum-too-large' }

export type ReserveRefusal =
  | { readonly outcome: 'key-conflict' }
  /** The id or storage key is carried by another attempt of this key. */
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
  /** Another upload id is set already. */
  | { readonly outcome: 'other-upload' }

export interface RowOutcome extends Touched {
  readonly row: StorageObject | null
}

export interface RowsOutcome extends Touched {
  readonly rows: StorageObject[]
  /**
   * Set where a part failed that may have happened all the same, or may yet: `scopes` lacks what it touches. That is no
   * error of the whole call, because nobody else would tell the rows that were removed.
   */
  readonly isUncertain?: boolean
}

export interface PurgeDeletedOutcome extends Touched {
  readonly dropped: number
}
