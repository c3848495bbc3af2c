import type { RecordedChange } from '../../../src/core/store/events.js'
import type { ObjectReference } from '../../../src/core/store/records.js'

/** An event, and the range in which the contract allows its `dueAt`. */
export interface ModelEvent {
  /** Counts in the order of recording. */
  readonly number: number
  readonly change: RecordedChange
  readonly createdAt: Date
  /** A name of the model's, until a claim of the store shows its own. */
  readonly id: string
  readonly hasOwnId: boolean
  readonly attempts: number
  /** The token of the last claim. `null` if the event was never claimed, or waits for a retry. */
  readonly claim: string | null
  readonly claimedUntil: Date | null
  readonly dueFrom: Date
  readonly dueBy: Date
}

export function eventOf(number: number, change: RecordedChange, now: Date): ModelEvent {
  return {
    ...{ number, change, createdAt: now, id: `event ${number}`, hasOwnId: false },
    ...{ attempts: 0, claim: null, claimedUntil: null, dueFrom: now, dueBy: now },
  }
}

export function isOf({ change: { object } }: ModelEvent, { bucket, key }: ObjectReference): boolean {
  return object.bucket === bucket && object.key === key
}

/** Returns the oldest event of each object. Only these can be claimed. */
export function oldestOfEach(events: readonly ModelEvent[]): ModelEvent[] {
  return events.filter((event) => events.find((other) => isOf(other, event.change.object)) === event)
}

/** Returns the events without one. The next event of its object may be due from now on instead of from its recording. */
export function withoutEvent(
  events: readonly ModelEvent[],
  settled: ModelEvent,
  now: Date,
): readonly ModelEvent[] {
  const rest = events.filter((event) => event !== settled)
  const next = rest.find((event) => isOf(event, settled.change.object))
  return rest.map((event) => (event === next && event.dueBy < now ? { ...event, dueBy: now } : event))
}

/** Returns whether events can have been claimed in this order: the earliest due first, and none left out. */
export function isClaimOrder(
  claimed: readonly ModelEvent[],
  others: readonly ModelEvent[],
  limit: number,
  now: Date,
): boolean {
  if (claimed.length > limit || claimed.some(({ dueFrom }) => dueFrom > now)) return false
  let due = new Date(-8.64e15)
  for (const { dueFrom, dueBy } of claimed) {
    if (dueFrom > due) due = dueFrom
    if (dueBy < due) return false
  }
  const mustWait = claimed.length === limit
  return others.every(({ dueBy }) => dueBy > now || (mustWait && dueBy >= due))
}
