import { mongoAdapter } from '@svc/db/mongo'
import { bucket } from '../servers/scopes.mjs'
import { upload } from '../servers/store-calls.mjs'

const NUMBERS = 'bench_numbers'
const MOST_AT_ONCE = 1000

/**
 * Creates collections with events on, in which this many wait. `add` adds more of objects that have no other, all due.
 * They are copies of one that the adapter recorded, with other ids and keys. The server makes them, because sending
 * millions of documents takes minutes.
 */
export async function createEventQueue(db, collectionPrefix, waiting) {
  const sample = await recordSample(db, `${collectionPrefix}sample_`)
  const events = `${collectionPrefix}events`
  const numbers = db.collection(NUMBERS)
  await numbers.deleteMany({})
  await numbers.insertMany(Array.from({ length: MOST_AT_ONCE }, (_, _id) => ({ _id })))
  // Before the indexes exist, because building them is faster than adding to them.
  const perNumber = Math.ceil(waiting / MOST_AT_ONCE)
  await numbers.aggregate([...copiesOf(sample, MOST_AT_ONCE, perNumber), { $out: events }]).toArray()
  const store = mongoAdapter(db, { collectionPrefix, events: true })
  await store.migrate()
  return {
    store,
    waiting: perNumber * MOST_AT_ONCE,

    async add(count) {
      const into = { into: events, whenMatched: 'fail' }
      await numbers.aggregate([...copiesOf(sample, count, 1), { $merge: into }]).toArray()
    },

    async remove() {
      for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
        if (name.startsWith(collectionPrefix)) await db.dropCollection(name)
      }
    },
  }
}

/** Lets the adapter record an event, and returns its document and that of its queue. */
async function recordSample(db, collectionPrefix) {
  const store = mongoAdapter(db, { collectionPrefix, events: true })
  await store.migrate()
  await upload(store, 'user:sample')
  const events = db.collection(`${collectionPrefix}events`)
  const event = await events.findOne({ queue: { $exists: true } }, { promoteLongs: false })
  return { event, queue: await events.findOne({ _id: event.queue }, { promoteLongs: false }) }
}

/** Returns stages that make this many copies of the sample for each of so many numbers. */
function copiesOf({ event, queue }, numbers, copies) {
  const now = new Date()
  const key = { $concat: ['uploads/', '$uuid'] }
  const id = { $concat: ['$uuid', '$queue'] }
  const eventCopy = {
    ...literals(event),
    _id: id,
    queue: '$queue',
    at: { $concat: [`${bucket}\0`, key] },
    object: { ...literals(event.object), storageKey: key },
    createdAt: now,
  }
  const queueCopy = { ...literals(queue), _id: '$queue', head: id, version: '$uuid', ripeAt: now }
  const digits = (from, length) => ({ $substrBytes: ['$digits', from, length] })
  return [
    { $limit: numbers },
    { $project: { copy: { $range: [0, copies] } } },
    { $unwind: '$copy' },
    { $project: { digits: { $concat: Array.from({ length: 5 }, randomDigits) } } },
    {
      $project: {
        // The ids of events are UUIDs of version 7, followed by the id of the queue.
        uuid: {
          $concat: [
            '019',
            digits(0, 5),
            '-',
            digits(5, 4),
            '-7',
            digits(9, 3),
            '-8',
            digits(12, 3),
            '-',
            digits(15, 12),
          ],
        },
        queue: { $concat: ['~', digits(27, 43)] },
      },
    },
    { $project: { documents: [eventCopy, queueCopy] } },
    { $unwind: '$documents' },
    { $replaceRoot: { newRoot: '$documents' } },
  ]
}

/** Returns an expression of 14 random digits. */
function randomDigits() {
  const number = { $add: [1e14, { $floor: { $multiply: [{ $rand: {} }, 1e14] } }] }
  return { $substrBytes: [{ $toString: { $toLong: number } }, 1, 14] }
}

/** Keeps the server from reading values as expressions. */
function literals(document) {
  return Object.fromEntries(Object.entries(document).map(([name, $literal]) => [name, { $literal }]))
}
