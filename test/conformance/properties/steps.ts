import type { ObjectMetadata, ObjectStatus } from '../../../src/core/store/records.js'
import type { Place } from './vocabulary.js'

/**
 * One step of a script before it runs. It names things by their part in the story ("the attempt that is pending there"),
 * because ids, cursors and what a quota leaves are known only when the step's turn comes.
 */
export type Step =
  | ReserveStep
  | ConfirmStep
  | {
      readonly call: 'setUploadId'
      readonly at: Place
      readonly id: AttemptChoice
      readonly uploadId: number
    }
  | {
      readonly call: 'release'
      readonly at: Place
      readonly id: AttemptChoice
      readonly scope: number | null
      readonly uploadId: number | null
    }
  | {
      readonly call: 'remove'
      readonly at: Place
      readonly scope: number | null
      readonly mode: 'soft' | 'hard' | null
    }
  | {
      readonly call: 'findPending'
      readonly at: Place
      readonly id: AttemptChoice
      readonly uploadId: number | null
    }
  | { readonly call: 'find' | 'findActive'; readonly at: Place }
  | { readonly call: 'findPendingMultipart'; readonly at: Place; readonly fileSize: SizeChoice }
  | {
      readonly call: 'listByScope'
      readonly scope: number
      readonly status: ObjectStatus | null
      readonly route: number | null
      readonly limit: number | null
      /** Which of the cursors that came up so far. */
      readonly cursor: number | null
    }
  | { readonly call: 'countByScope'; readonly scope: number; readonly status: ObjectStatus | null }
  | { readonly call: 'getScopeUsage'; readonly scope: number }
  | ExpiredStep
  | { readonly call: 'listLeftovers'; readonly limit: number | null; readonly after: number | null }
  /** Which of the leftovers, or of the attempts where there are none. */
  | { readonly call: 'forgetLeftover'; readonly which: number }
  /** Up to so many milliseconds from the date of the oldest history, or from now where there is none. */
  | { readonly call: 'purgeDeleted'; readonly before: number; readonly limit: number | null }
  | { readonly call: 'clock'; readonly by: number }
  /** To so many milliseconds from the moment when what is pending there lapses. */
  | { readonly call: 'clockToExpiry'; readonly at: Place; readonly by: number }
  /** A call with one of its fields, and one of the bad values for it, by number. */
  | { readonly call: 'spoiled'; readonly step: Step; readonly field: number; readonly value: number }

export interface ReserveStep {
  readonly call: 'reserve'
  readonly scope: number
  readonly at: Place
  readonly declaredSize: number
  readonly lasts: number | 'longest'
  readonly id: 'none' | 'early' | 'late' | 'pending' | 'active' | 'activeAttempt'
  readonly storageKey: 'none' | 'own' | 'pending' | 'active'
  readonly uploadId: number | null
  readonly overwrite: boolean | null
  readonly quota: QuotaChoice
  readonly route: number | null
  readonly filename: string | null
  readonly contentType: string | null
  readonly metadata: ObjectMetadata | null
}

export interface ConfirmStep {
  readonly call: 'confirm'
  readonly at: Place
  readonly id: AttemptChoice
  readonly scope: number | null
  readonly size: SizeChoice
  readonly eTag: number | 'active' | null
  readonly contentType: string | null
  readonly quota: QuotaChoice
}

export interface ExpiredStep {
  readonly call: 'listExpired' | 'purgeExpired'
  readonly scope: number | null
  /** Milliseconds from now. */
  readonly before: number | null
  readonly limit: number | null
  /** Which of the lapsed rows; only for the list. */
  readonly after: number | null
}

/** An attempt by what it is at the place of the call, or any that was made there, by number. */
export type AttemptChoice = 'none' | 'pending' | 'active' | 'activeAttempt' | { readonly made: number }

/** A number of bytes, or that which is pending or active at the place of the call, or a little more than is pending. */
export type SizeChoice = number | 'pending' | 'active' | { readonly morePending: number }

/** How much room the quota leaves beyond what the scope holds; `null`: unlimited. */
export type QuotaChoice = { readonly bytes: number | null; readonly files: number | null } | null
