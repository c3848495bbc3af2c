import type { ClientSession, Timestamp } from 'mongodb'
import { toBase64Url } from '../../../core/bytes.js'
import { keyId, referenceOf } from '../../../core/names.js'
import { createAttemptId, isAttemptId } from '../../../core/store/attempt-id.js'
import type { EventClaim } from '../../../core/store/driver.js'
import { recordedChange, type RecordedChange } from '../../../core/store/events.js'
import type { ObjectReference, ObjectStatus, StorageObject } from '../../../core/store/records.js'
import { serverTime } from '../connection/bson.js'
import type { Stored } from '../connection/namespace.js'
import { readRow, storedRow, type StoredRow } from './stored-row.js'

/** A recorded change. Its `_id` is a UUIDv7 followed by the `_id` of its queue. */
export interface EventDocument extends Stored {
  readonly queue: string
  /** The server's time of the write, which orders the events of an object whatever the clocks of the processes say. */
  readonly order: Timestamp
  readonly type: RecordedChange['type']
  readonly at: string
  readonly object: EventRow
  readonly previous?: EventRow
  /** Of a rejection, if the verdict had one. */
  readonly reason?: string
  readonly createdAt: Date
}

type EventRow = StoredRow & {
  readonly scope: string
  readonly status: ObjectStatus
  readonly deletedAt?: Date
}

/** The state of an object's events. It exists as long as the object has any. */
export interface QueueDocument extends Stored {
  readonly n: number
  /** The id of the oldest event. No event becomes the oldest twice. */
  readonly head: string
  /** When the oldest event can be claimed: when it is due, or when its claim ends. */
  readonly ripeAt: Date
  /** The token of the last claim of the oldest event. Missing before it and after a retry was scheduled. */
  readonly claim?: string
  /** How often the oldest event has been claimed. Missing for 0. */
  readonly attempts?: number
  /** Whether the oldest event has been claimed. Claims of either kind read only their part of the index. */
  readonly tried: boolean
}

/** A change to record, and when it was made by the clock of the process. */
export type NewEvent = RecordedChange & { readonly createdAt: Date }

/** Starts the `_id` of a queue. It sorts after everything in a UUID, so events and queues are two ranges of `_id`. */
export const QUEUE_PREFIX = '~'
const UUID_LENGTH = 36
const QUEUE_ID = /^~[A-Za-z0-9_-]{43}$/

/** Returns the `_id` of an object's queue: a hash of bucket and key, so that it has room in the ids of events. */
export async function queueIdOf(reference: ObjectReference): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(keyId(reference)))
  return QUEUE_PREFIX + toBase64Url(new Uint8Array(digest))
}

/** An entry of a call about claimed events, with the `_id` of the event's queue. */
export type InQueue<Entry extends EventClaim> = Entry & { readonly queue: string }

/** Adds the queues that the ids of the events name, and leaves out the entries whose ids this adapter didn't create. */
export function inQueues<Entry extends EventClaim>(entries: readonly Entry[]): InQueue<Entry>[] {
  return entries.flatMap((entry) => {
    const queue = entry.id.slice(UUID_LENGTH)
    return isAttemptId(uuidOfEvent(entry.id)) && QUEUE_ID.test(queue) ? [{ ...entry, queue }] : []
  })
}

export function uuidOfEvent(id: string): string {
  return id.slice(0, UUID_LENGTH)
}

/** Builds the statements that record events: two for each of them. The session MUST have received a response. */
export async function recordings(session: ClientSession, events: readonly NewEvent[]) {
  const statements = await Promise.all(events.map((event) => recording(session, event)))
  return statements.flat()
}

async function recording(session: ClientSession, event: NewEvent) {
  const { type, object, previous, createdAt } = event
  const reason = event.type === 'rejected' ? event.reason : null
  // Before the wait, so ids are in the order of the changes.
  const uuid = createAttemptId()
  const queue = await queueIdOf(object)
  const _id = uuid + queue
  const document = {
    queue,
    order: serverTime(session),
    type,
    at: keyId(object),
    object: eventRow(object),
    ...(previous && { previous: eventRow(previous) }),
    ...(reason !== null && { reason }),
    createdAt,
  }
  return [
    // The increment makes this conflict with a settlement that is about to remove the queue.
    {
      q: { _id: queue },
      u: { $inc: { n: 1 }, $setOnInsert: { ripeAt: createdAt, head: _id, tried: false } },
      upsert: true,
    },
    { q: { _id }, u: document, upsert: true },
  ]
}

function eventRow(row: StorageObject): object {
  const { scope, status, deletedAt } = row
  return { ...storedRow(row), scope, status, ...(deletedAt && { deletedAt }) }
}

export function readEvent({ _id, type, at, object, previous, reason, createdAt }: EventDocument) {
  const read = (row: EventRow) => {
    const { scope, status, deletedAt = null } = row
    return readRow(row, { ...referenceOf(at), scope, status, deletedAt })
  }
  const change = recordedChange(type, read(object), previous ? read(previous) : null, reason ?? null)
  return { id: _id, ...change, createdAt }
}
