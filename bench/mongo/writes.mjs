import { createAttemptId } from '@svc/db'
import { Long } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve, SIZE, upload } from '../servers/store-calls.mjs'

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
      bar: { least: 1 },
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

const CHANGES = {
  update: (store, at, { owner }) =>
    store.update({ ...at, scope: owner, filename: `picture ${Math.random()}.jpg` }),
  transfer: async (store, at, object) => {
    const [from, to] = [object.owner, object.other]
    await store.transfer({ ...at, from, to, quota: ample })
    Object.assign(object, { owner: to, other: from })
  },
}

/**
 * Compares a replacement that is reserved and then released with one that is reserved before the object is changed. Each
 * caller has an object and two scopes of its own.
 */
export async function compareChanges(db, callers) {
  const store = mongoAdapter(db)
  const results = []
  for (const [change, run] of Object.entries(CHANGES)) {
    const objects = await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        const [owner, other] = ['a', 'b'].map((name) => `user:${change}-${callers}-${caller}-${name}`)
        const { key } = await reserve(store, owner, ample)
        await store.confirm({ bucket, key, size: SIZE })
        return { key, owner, other }
      }),
    )
    const replacing = async (caller, then) => {
      const object = objects[caller]
      const at = { bucket, key: object.key }
      const expiresAt = new Date(Date.now() + 3_600_000)
      await store.reserve({ ...at, scope: object.owner, declaredSize: SIZE, expiresAt, quota: ample })
      await then(at, object)
    }
    results.push(
      await compareWaiting({
        name: `${change}, ${callers === 1 ? '1 caller' : `${callers} callers`}`,
        base: (caller) => replacing(caller, (at, { owner }) => store.release({ ...at, scope: owner })),
        subject: (caller) => replacing(caller, (at, object) => run(store, at, object)),
        bar: { most: callers === 1 ? 1.2 : null },
        callers,
        rounds: callers === 1 ? ROUNDS : ROUNDS_OF_MANY,
      }),
    )
  }
  return results
}
