import { StorageError } from '../../../core/errors.js'
import { isAttemptId } from '../../../core/store/attempt-id.js'
import type { CountEventsQuery, ListEventsQuery } from '../../../core/store/driver.js'
import type { EventCounts, EventPage, ListedEvent } from '../../../core/store/events.js'
import { readNumber } from '../connection/bson.js'
import { aggregate, type Read } from '../connection/reads.js'
import {
  QUEUE_PREFIX,
  readEvent,
  uuidOfEvent,
  type EventDocument,
  type QueueDocument,
} from '../documents/event-document.js'

type EventWithQueue = EventDocument & { readonly of: readonly QueueDocument[] }

/** Lists events by id, which begins with the time of the process. */
export function listEvents({ limit, after }: ListEventsQuery): Read<EventPage> {
  if (after !== null && !isAttemptId(after)) throw new StorageError('INVALID_CURSOR')
  // The id of the next event is greater than the UUID of the last one, followed by any queue.
  const isAfter = after !== null && { $gt: after + QUEUE_PREFIX + QUEUE_PREFIX }
  const pipeline = (from: string) => [
    { $match: { _id: { ...isAfter, $lt: QUEUE_PREFIX } } },
    { $sort: { _id: 1 } },
    { $limit: limit + 1 },
    { $lookup: { from, localField: 'queue', foreignField: '_id', as: 'of' } },
  ]
  return async (reader) => {
    const { events } = reader.namespace
    const options = { batchSize: limit + 2, hint: '_id_' }
    const documents = await aggregate<EventWithQueue>(
      reader,
      events,
      pipeline(events.collectionName),
      options,
    )
    const items = documents.slice(0, limit).map(listedEvent)
    const last = items.at(-1)
    const isEnd = last === undefined || documents.length <= limit
    return { items, next: isEnd ? null : uuidOfEvent(last.id) }
  }
}

function listedEvent({ of: [queue], ...event }: EventWithQueue): ListedEvent {
  const read = readEvent(event)
  const waiting = { ...read, attempts: 0, dueAt: read.createdAt, claimedUntil: null }
  if (queue?.head !== event._id) return waiting
  const { attempts = 0, claim, ripeAt } = queue
  return { ...waiting, attempts, dueAt: ripeAt, claimedUntil: claim === undefined ? null : ripeAt }
}

/** Adds up the queues, since only an object's oldest event can be claimed or wait for a retry. */
export function countEvents({ now }: CountEventsQuery): Read<EventCounts> {
  const isClaimed = { $and: [{ $gt: ['$claim', null] }, { $gt: ['$ripeAt', now] }] }
  const one = (condition: object) => ({ $sum: { $cond: [condition, 1, 0] } })
  const pipeline = [
    { $match: { tried: { $in: [false, true] }, ripeAt: { $exists: true } } },
    {
      $group: {
        _id: null,
        all: { $sum: '$n' },
        claimed: one(isClaimed),
        tried: one({ $gt: ['$attempts', 0] }),
      },
    },
  ]
  return async (reader) => {
    const [sums] = await aggregate(reader, reader.namespace.events, pipeline, { hint: 'ripe' })
    const [all, claimed, tried] = [sums?.['all'] ?? 0, sums?.['claimed'] ?? 0, sums?.['tried'] ?? 0].map(
      readNumber,
    )
    return { waiting: all! - tried!, claimed: claimed!, retrying: tried! - claimed! }
  }
}
