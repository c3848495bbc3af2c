import type { StorageObject } from './records.js'

/** What happened to an active object or, for `arrived` and `rejected`, to an attempt that must be checked. */
export type StoredEventType = 'activated' | 'updated' | 'transferred' | 'deleted' | 'arrived' | 'rejected'

interface Change<Type extends StoredEventType, Previous extends StorageObject | null> {
  readonly type: Type
  /** The row after the change. For `deleted`, the row that `remove` returned; for `rejected`, the pending row before the change. */
  readonly object: StorageObject
  /**
   * The active row before the change. `null` for `deleted`, and for `activated` if nothing was replaced. For `arrived`, the active row that
   * the attempt would replace, or `null`.
   */
  readonly previous: Previous
}

/**
 * The change that an event reports: `activated` by `confirm` and `adopt`, `updated` by `update`, `adopt`, `keep` and `endTemporary`,
 * `transferred` by `transfer`, `deleted` by `remove` and `endTemporary`, `arrived` by `confirm`, `rejected` by `reject`. Narrow
 * it by `type`.
 */
export type RecordedChange =
  | Change<'activated', StorageObject | null>
  | Change<'updated', StorageObject>
  | Change<'transferred', StorageObject>
  | Change<'deleted', null>
  | Change<'arrived', StorageObject | null>
  | (Change<'rejected', null> & {
      /** The reason of the verdict, or `null`. */
      readonly reason: string | null
    })

/**
 * Builds a change from what a database stored.
 * @throws TypeError if these fields can't belong to one event.
 *
 * @example
 * import { recordedChange } from '@svc/db/adapter'
 *
 * const change = recordedChange('activated', object, null)
 */
export function recordedChange(
  type: string,
  object: StorageObject,
  previous: StorageObject | null,
  reason: string | null = null,
): RecordedChange {
  switch (type) {
    case 'activated':
    case 'arrived':
      return { type, object, previous }
    case 'updated':
    case 'transferred':
      if (previous !== null) return { type, object, previous }
      break
    case 'deleted':
      if (previous === null) return { type, object, previous }
      break
    case 'rejected':
      if (previous === null) return { type, object, previous, reason }
  }
  throw new TypeError(
    `The database contains an event of type "${type}" ${previous === null ? 'without' : 'with'} a previous row.`,
  )
}

interface EventRecord {
  /** Opaque, at most 100 characters. */
  readonly id: string
  /** When the change was made, by the clock of the process that made it. Informative: events are not ordered by it. */
  readonly createdAt: Date
  /** How often the event has been claimed. For a claimed event, this time included. */
  readonly attempts: number
}

/** A claimed event. It is yours until the claim expires and another caller claims it. */
export type StoredEvent = RecordedChange &
  EventRecord & {
    /** Identifies this claim. Opaque, at most 100 characters. */
    readonly claim: string
    /** Whether a later event of the object waited behind this one when it was claimed. */
    readonly hasNext: boolean
  }

/** An event whose claim has ended. */
export interface SettledEvent {
  readonly id: string
  /** Whether the object has a later event. */
  readonly hasNext: boolean
}

/** An event as operators see it. */
export type ListedEvent = RecordedChange &
  EventRecord & {
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
