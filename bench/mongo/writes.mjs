import { createAttemptId } from '@svc/db'
import { Long } from 'mongodb'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { SIZE, upload } from '../servers/store-calls.mjs'
import { mongoAdapter } from './adapter.mjs'

/** Of one caller; those of many take longer each. */
const ROUNDS = 201
const ROUNDS_OF_MANY = 61
/** A round without a lane takes seconds: nearly every transaction meets another, and is begun again. */
const ROUNDS_WITHOUT_LANE = 5

/**
 * reserve + confirm beside the least that stores the same document: one insertOne and one updateOne, which know no quota,
 * no owner and no sums, into a collection with the same indexes. Each caller has a scope of its own.
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
 * Uploads of many callers into one scope, through one store and so in one lane, beside the same callers' bare writes, and
 * beside the same callers with a store each: none of them has two calls at once, so none shares a transaction, as if they
 * were so many processes.
 */
export async function compareHotScope(db, bareDocuments, callers) {
  const scope = 'user:hot'
  const shared = mongoAdapter(db)
  const own = Array.from({ length: callers }, () => mongoAdapter(db))
  const inLane = { subject: () => upload(shared, scope), callers }
  return {
    besideBare: await compareWaiting({
      ...inLane,
      name: `${callers} callers of one scope`,
      base: () => bareUpload(bareDocuments, scope),
      bar: { least: 1 },
      rounds: ROUNDS_OF_MANY,
    }),
    besideNoLane: await compareWaiting({
      ...inLane,
      name: `${callers} callers of one scope`,
      base: (caller) => upload(own[caller], scope),
      bar: { least: 20 },
      rounds: ROUNDS_WITHOUT_LANE,
    }),
  }
}
