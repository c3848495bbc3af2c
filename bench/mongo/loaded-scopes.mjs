import { randomBytes } from 'node:crypto'
import { createAttemptId } from '@svc/db'
import {
  bucket,
  expectRightSums,
  large,
  OTHER_SCOPES,
  RARE_STATUS,
  rareRoute,
  small,
} from '../servers/scopes.mjs'
import { ample, SIZE } from '../servers/store-calls.mjs'

const SCOPES = { large, small: small.scope }
const BATCH = 10_000
const START = Date.parse('2025-01-01')

/**
 * Fills the collections of the adapter with a large scope, a small one and a thousand others, interleaved in order of
 * time. The indexes exist meanwhile, so they grow to a realistic size. The documents are copies of documents that the
 * adapter wrote, with new ids, keys and times.
 */
export async function loadScopes(db, store, largeRows) {
  const samples = await writeSamples(db, store)
  const gap = Math.floor(largeRows / rareRoute.rows)
  const smallGap = Math.floor(largeRows / small.rows)
  const loader = { objects: [], history: [] }
  const flush = async (least) => {
    for (const [name, documents] of Object.entries(loader)) {
      if (documents.length < least || documents.length === 0) continue
      await db.collection(`svc_db_${name}`).insertMany(documents.splice(0), { ordered: false })
    }
  }
  for (let number = 1; number <= largeRows; number++) {
    add(SCOPES.large, number % gap === 0)
    if (number % smallGap === 0) add(SCOPES.small, number % (5 * smallGap) === 0)
    if (number % 5 === 0) add(`user:${(number / 5) % OTHER_SCOPES}`, false)
    await flush(BATCH)

    function add(scope, isRare) {
      const part = Math.floor(number / 7) % RARE_STATUS
      const status = part === 1 ? 'pending' : part === 2 ? 'deleted' : 'active'
      const route = isRare ? rareRoute.name : 'common'
      const row = { scope, status, route, size: 1000 + (number % 1000), at: new Date(START + number * 1000) }
      loader[status === 'deleted' ? 'history' : 'objects'].push(copyOf(samples[status], row))
    }
  }
  await flush(1)
  await store.repairUsage()
  await expectRightSums(store)
}

/** Lets the adapter write one document of each status and returns them. */
async function writeSamples(db, store) {
  const scope = 'user:sample'
  const expiresAt = new Date(Date.now() + 3_600_000)
  const samples = {}
  for (const status of ['pending', 'active', 'deleted']) {
    const key = `samples/${status}`
    const id = createAttemptId()
    await store.reserve({
      ...{ id, scope, bucket, key, declaredSize: SIZE, expiresAt, storageKey: key, quota: ample },
      ...{ route: 'common', filename: 'holiday picture.jpg', contentType: 'image/jpeg' },
    })
    if (status !== 'pending') {
      await store.confirm({ bucket, key, id, scope, size: SIZE, eTag: randomBytes(16).toString('hex') })
    }
    if (status === 'deleted') await store.remove({ bucket, key, mode: 'soft' })
    const documents = db.collection(status === 'deleted' ? 'svc_db_history' : 'svc_db_objects')
    samples[status] = await documents.findOne({ scope }, { sort: { _id: -1 }, promoteLongs: false })
    await documents.deleteMany({ scope })
  }
  await db.collection('svc_db_leftovers').deleteMany({})
  await db.collection('svc_db_objects').deleteMany({ _id: scope })
  return samples
}

function copyOf(sample, { scope, status, route, size, at }) {
  const id = idAt(at)
  const key = `uploads/${randomBytes(16).toString('hex')}`
  const name = status === 'deleted' ? 'row' : status
  const live = sample[name]
  const sizeField = status === 'pending' ? 'declaredSize' : 'size'
  const never = new Date(at.getTime() + 100 * 365 * 86_400_000)
  const row = {
    ...live,
    ...{ id, attemptId: id, route, storageKey: key, createdAt: at, updatedAt: at },
    [sizeField]: live[sizeField].constructor.fromNumber(size),
    ...(live.confirmedAt && { confirmedAt: at, eTag: randomBytes(16).toString('hex') }),
    ...(live.expiresAt && { expiresAt: never }),
    ...(live.writableUntil && { writableUntil: never }),
  }
  const objectId = `${bucket}\0${key}`
  return status === 'deleted'
    ? { ...sample, _id: id, scope, at: objectId, deletedAt: new Date(at.getTime() + 86_400_000), row }
    : { ...sample, _id: objectId, scope, [name]: row }
}

/** Returns a UUIDv7 of that time. */
function idAt(at) {
  const random = randomBytes(10).toString('hex')
  const time = at.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}

const COLLECTIONS = ['objects', 'history']

/** Returns the entries and the compressed size on disk of each collection and index. */
export async function measureSizes(db) {
  // Data in the cache has no size on disk yet.
  await db.admin().command({ fsync: 1 })
  const sizes = []
  for (const name of COLLECTIONS) {
    const collection = db.collection(`svc_db_${name}`)
    const [{ storageStats }] = await collection.aggregate([{ $collStats: { storageStats: {} } }]).toArray()
    sizes.push(sizeOf(name, storageStats.count, storageStats.storageSize))
    for (const { name: index, key, partialFilterExpression } of await collection.listIndexes().toArray()) {
      // Counts the entries of the index, which may be sparse or partial.
      const inIndex = partialFilterExpression ?? { [Object.keys(key)[0]]: { $exists: true } }
      const entries = index === '_id_' ? storageStats.count : await collection.countDocuments(inIndex)
      if (entries > 0) sizes.push(sizeOf(`${name}, ${index}`, entries, storageStats.indexSizes[index]))
    }
  }
  return sizes
}

function sizeOf(name, entries, bytes) {
  return { name, entries, megabytes: bytes / 1e6, bytesPerEntry: bytes / entries }
}
