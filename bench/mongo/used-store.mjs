import { createAttemptId } from '@svc/db'
import { HOT } from '../servers/calls-beside.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve, SIZE } from '../servers/store-calls.mjs'

const BATCH = 1000
/** The adapter waits for the disk, which takes minutes. */
const FAST = { writeConcern: { w: 1, j: false } }

/**
 * Makes as many uploads of one scope, each with an event that is delivered. Removes every second object, purges its history and
 * forgets its leftover. The documents are copies of those that the adapter writes for one upload, and pass through the same states.
 */
export async function createUsedStore(db, store, rows) {
  const open = (name) => db.collection(`svc_db_${name}`, FAST)
  const collections = {
    objects: open('objects'),
    events: open('events'),
    history: open('history'),
    leftovers: open('leftovers'),
  }
  const sample = await writeSample(store, collections)
  for (let made = 0; made < rows; made += BATCH) {
    const uploads = Array.from({ length: Math.min(BATCH, rows - made) }, () => copyOf(sample))
    await upload(collections, uploads)
    await deliver(collections, uploads)
    await remove(
      collections,
      uploads.filter((_, index) => index % 2 === 0),
    )
  }
  await store.repairUsage()
  // An upload in progress.
  await reserve(store, HOT, ample)
}

/** Lets the adapter make and remove an upload, and returns its documents in each state. */
async function writeSample(store, { objects, events, history, leftovers }) {
  const read = (collection, filter) => collection.findOne(filter, { promoteLongs: false })
  const { key, id } = await reserve(store, HOT, ample)
  const _id = `${bucket}\0${key}`
  const pending = await read(objects, { _id })
  await store.confirm({ bucket, key, id, scope: HOT, size: SIZE, eTag: 'e', quota: ample })
  const active = await read(objects, { _id })
  const event = await read(events, { queue: { $exists: true } })
  const queue = await read(events, { _id: event.queue })
  await store.remove({ bucket, key, scope: HOT, mode: 'soft' })
  const row = await read(history, { at: _id })
  const leftover = await read(leftovers, { at: _id })
  for (const collection of [events, history, leftovers]) await collection.deleteMany({})
  return { names: [key, id, queue._id], documents: { pending, active, event, queue, row, leftover } }
}

/** Copies the documents of an upload, with other names. */
function copyOf({ names, documents }) {
  const id = createAttemptId()
  const others = [`uploads/${id}`, id, `~${id.replaceAll('-', '')}${names[2].slice(33)}`]
  const copy = (value) => {
    if (typeof value === 'string') {
      return names.reduce((text, name, index) => text.replaceAll(name, others[index]), value)
    }
    // Not dates, nor numbers of the driver.
    if (value === null || value?.constructor !== Object) return value
    return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, copy(part)]))
  }
  return copy(documents)
}

const ofAll = (documents) => ({ _id: { $in: documents.map(({ _id }) => _id) } })

async function upload({ objects }, uploads) {
  await objects.insertMany(uploads.map(({ pending }) => pending))
  await objects.bulkWrite(
    uploads.map(({ active }) => ({ replaceOne: { filter: { _id: active._id }, replacement: active } })),
  )
}

async function deliver({ events }, uploads) {
  const queues = uploads.map(({ queue }) => queue)
  const documents = [...uploads.map(({ event }) => event), ...queues]
  await events.insertMany(documents)
  // As a claim does.
  await events.updateMany(ofAll(queues), { $set: { tried: true } })
  await events.deleteMany(ofAll(documents))
}

async function remove({ objects, history, leftovers }, uploads) {
  await objects.deleteMany(ofAll(uploads.map(({ active }) => active)))
  for (const [collection, documents] of [
    [history, uploads.map(({ row }) => row)],
    [leftovers, uploads.map(({ leftover }) => leftover)],
  ]) {
    await collection.insertMany(documents)
    await collection.deleteMany(ofAll(documents))
  }
}
