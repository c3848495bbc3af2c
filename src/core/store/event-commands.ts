import type { ObjectReference } from './records.js'

/** What a driver receives from the store to claim, settle and list events. */

export interface ClaimEventsCommand {
  readonly limit: number
  /** Only the oldest event of this object. */
  readonly reference: ObjectReference | null
  readonly now: Date
  /** The end of the claims. */
  readonly until: Date
}

/** Names an event and the claim of the caller. Either may be any text of at most 100 characters. */
export interface EventClaim {
  readonly id: string
  readonly claim: string
}

export interface EventSettlement extends EventClaim {
  /** When to try again. `null` removes the event. */
  readonly retryAt: Date | null
}

export interface SettleEventsCommand {
  /** 1 to 1000, with different ids. */
  readonly entries: readonly EventSettlement[]
  readonly now: Date
}

export interface ExtendClaimsCommand {
  /** 1 to 1000, with different ids. */
  readonly entries: readonly EventClaim[]
  readonly until: Date
}

export interface ListEventsQuery {
  readonly limit: number
  /** `next` of an earlier page, possibly of another database. */
  readonly after: string | null
}

export interface CountEventsQuery {
  readonly now: Date
}
