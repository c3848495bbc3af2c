import type { StorageObject } from './records.js'

/** What happened to an active object. */
export type StoredEventType = 'activated' | 'updated' | 'transferred' | 'deleted'

export const EVENT_TYPES = [
  'activated',
  'updated',
  'transferred',
  'deleted',
] as const satisfies readonly StoredEventType[]

/** The change that an event reports. */
export interface RecordedChange {
  /** `activated` by `confirm` and `adopt`, `updated` by `update` and `adopt`, `transferred` by `transfer`, `deleted` by `remove`. */
  readonly type: StoredEventType
  /** The row after the change. For `deleted`, the row that `remove` returned. */
  readonly object: StorageObject
  /** The active row before the change. `null` for `deleted`, and for `activated` if nothing was replaced. */
  readonly previous: StorageObject | null
}

interface EventRecord extends RecordedChange {
  /** Opaque, at most 100 characters. */
  readonly id: string
  /** When the change was made, by the clock of the process that made it. Informative: events are not ordered by it. */
  readonly createdAt: Date
}

/** A claimed event. It is yours until the claim expires and another caller claims it. */
export interface StoredEvent extends EventRecord {
  /** How often the event has been claimed, this time included. */
  readonly attempts: number
  /** Identifies this claim. Opaque, at most 100 characters. */
  readonly claim: string
}

/** An event as operators see it. */
export interface ListedEvent extends EventRecord {
  /** How often the event has been claimed. */
  readonly attempts: number
  /**
   * When the event can be claimed, unless an older event of its object is still there: the end of its claim, the time of its
   * retry, or when it was recorded (possibly later, if it had to wait for an older one).
   */
  readonly dueAt: Date
  /** When the last claim ends or ended. `null` if the event was never claimed, or waits for a retry. */
  readonly claimedUntil: Date | null
}

/** One page of events. `next` is `null` at the end. */
export interface EventPage {
  readonly items: ListedEvent[]
  readonly next: string | null
}

/** The number of events that are still to be settled. */
export interface EventCounts {
  /** Never claimed. */
  readonly waiting: number
  /** Under a claim that has not expired. */
  readonly claimed: number
  /** All others: their claim expired, or a retry is due or scheduled. */
  readonly retrying: number
}
