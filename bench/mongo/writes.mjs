import { createAttemptId } from '@svc/db'
import { Long } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { compareChanges } from '../servers/compare-changes.mjs'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { SIZE, upload } from '../servers/store-calls.mjs'

const ROUNDS = 201
/** Rounds with many callers take longer. */
const ROUNDS_OF_MANY = 61
/** A round without batching takes seconds, because nearly every transaction conflicts and is retried. */
const ROUNDS_WITHOUT_BATCHING = 5

/**
 * Compares reserve + confirm with the minimum that stores the same document: one insertOne and one updateOne, without
 * quota, owner and sums, into a collection with the same indexes. Each caller has its own scope.
 */
export async function compareUploads(db, bareDocuments, bars) {
  const store = mongoAdapter(db)
  const results = []
  for (const { callers, least } of bars) {
    results.push(
      await compareWaiting({
        name: callers === 1 ? '1 caller' : `${callers} callers`,
        base: (caller) => bareUpload(bareDocuments, `user:caller-${caller}`),
        subject: (caller) => upload(store, `user:caller-${caller}`),
        bar: { least },
        callers,
        rounds: callers === 1 ? ROUNDS : ROUNDS_OF_MANY,
      }),
    )
  }
  return results
}

async function bareUpload(documents, scope) {
  const id = createAttemptId()
  const key = `uploads/${id}`
  const _id = `${bucket}\0${key}`
  const now = new Date()
  const expiresAt = new Date(now.getTime() + 3_600_000)
  const row = {
    ...{ id, attemptId: id, route: 'common', filename: 'holiday picture.jpg', contentType: 'image/jpeg' },
    ...{ storageKey: key, writableUntil: expiresAt, createdAt: now, updatedAt: now },
  }
  await documents.insertOne({
    _id,
    scope,
    pending: { ...row, declaredSize: Long.fromNumber(SIZE), expiresAt },
  })
  const active = { ...row, size: Long.fromNumber(SIZE), eTag: 'e', confirmedAt: now }
  await documents.updateOne({ _id, 'pending.id': id }, { $set: { active }, $unset: { pending: '' } })
}

/**
 * Compares uploads of many callers into one scope, batched by one store, with bare writes of the same callers, and with
 * one store per caller. Each of those stores has one call at a time and so never batches, like separate processes.
 */
export async function compareHotScope(db, bareDocuments, callers) {
  const scope = 'user:hot'
  const shared = mongoAdapter(db)
  const own = Array.from({ length: callers }, () => mongoAdapter(db))
  const batched = { subject: () => upload(shared, scope), callers }
  return {
    withBareWrites: await compareWaiting({
      ...batched,
      name: `${callers} callers of one scope`,
      base: () => bareUpload(bareDocuments, scope),
      bar: { least: 1.2 },
      rounds: ROUNDS_OF_MANY,
    }),
    withoutBatching: await compareWaiting({
      ...batched,
      name: `${callers} callers of one scope`,
      base: (caller) => upload(own[caller], scope),
      bar: { least: 20 },
      rounds: ROUNDS_WITHOUT_BATCHING,
    }),
  }
}

/** Compares changes of an object with the release of a reservation. */
export async function compareObjectChanges(db) {
  const store = mongoAdapter(db)
  return [
    ...(await compareChanges({ store, callers: 1, most: 1.2, rounds: ROUNDS })),
    ...(await compareChanges({ store, callers: 8, most: null, rounds: ROUNDS_OF_MANY })),
  ]
}

/** Compares reserve + confirm with events on and off. Each has collections of its own, with a scope per caller. */
export async function compareEvents(db) {
  const [off, on] = await Promise.all(
    [false, true].map(async (events) => {
      const collectionPrefix = events ? 'bench_events_on_' : 'bench_events_off_'
      const store = mongoAdapter(db, { collectionPrefix, events })
      await store.migrate()
      return store
    }),
  )
  const results = []
  for (const callers of [1, 8]) {
    results.push(
      await compareWaiting({
        name: callers === 1 ? '1 caller' : `${callers} callers`,
        base: (caller) => upload(off, `user:caller-${caller}`),
        subject: (caller) => upload(on, `user:caller-${caller}`),
        bar: { most: callers === 1 ? 1.25 : null },
        callers,
        rounds: callers === 1 ? ROUNDS : ROUNDS_OF_MANY,
      }),
    )
  }
  return results
}
