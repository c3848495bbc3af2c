import type { MigrateOptions, MigrationResult } from '../../../core/store/contract.js'
import { backOff, type Call, type Deadline } from '../connection/deadline.js'
import { isRetryableInTransaction, serverCode } from '../connection/failures.js'
import type { Namespace } from '../connection/namespace.js'
import { isBetweenPrimaries } from '../connection/topology.js'
import type { QueueDocument } from '../documents/event-document.js'
import { describeDifference, describeForeign, foreignIndexes, indexDifferences } from './verify.js'
import { neededCollections, specification, type IndexedCollection } from './indexes.js'
import { collectionFlaws, refuse, rollbackFlaw, serverFlaw, shardingFlaws } from './requirements.js'
import { MIN_COMPATIBLE_VERSION, readState, SCHEMA_VERSION, STATE_ID, tooNew } from './version.js'

const COLLECTION_EXISTS = 48
const MAX_RETRIES = 20

export interface MigrationOptions extends MigrateOptions {
  /** Limits everything but the building of indexes, which may take hours. */
  readonly limit: Deadline
}

/**
 * Creates missing collections and indexes, in any number of processes. An index with another definition is an error.
 *
 * Turns events on or off; `null` leaves them as they are. They stay on if another process turns them on meanwhile.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` if the server, a collection or an index can't be used.
 */
export async function migrate(
  namespace: Namespace,
  events: boolean | null,
  { limit, signal, onProgress }: MigrationOptions,
): Promise<MigrationResult> {
  /** How often events had been requested when the first try began. */
  let requestsAtStart: number | null = null
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted()
    try {
      return await migrateOnce()
    } catch (error) {
      // Concurrent migrations conflict, and an election may interrupt one.
      const mayRunAgain = isRetryableInTransaction(error) || isBetweenPrimaries(error)
      if (!mayRunAgain || failures === MAX_RETRIES) throw error
      await backOff(failures)
    }
  }

  async function migrateOnce(): Promise<MigrationResult> {
    const { before, turnsOn, collections } = await limit(prepare)
    if (before.version > SCHEMA_VERSION) return { from: before.version, to: before.version }
    await buildIndexes(namespace, collections, onProgress)
    const after = await limit((call) => record(call, collections, turnsOn))
    refuse(tooNew(after))
    return { from: before.version, to: after.version }
  }

  async function prepare(call: Call) {
    refuse(await serverFlaw(namespace))
    refuse((await collectionFlaws(namespace))[0])
    refuse((await shardingFlaws(namespace))[0])
    const before = await readState(namespace, call)
    refuse(tooNew(before))
    requestsAtStart ??= before.eventRequests
    const ofEvents = namespace.db.listCollections({ name: namespace.events.collectionName })
    const hadEvents = (await ofEvents.toArray()).length > 0
    // If the version was lost, whether events were on is unknown. Recording too few would go unnoticed.
    const turnsOn = events ?? (before.version === 0 && hadEvents)
    const collections = neededCollections(before.events || turnsOn || hadEvents)
    for (const name of collections) await createCollection(namespace, namespace[name].collectionName)
    refuse(await rollbackFlaw(namespace))
    const deleting = (await foreignIndexes(namespace, collections)).find(({ harm }) => harm === 'deletes')
    refuse(deleting && describeForeign(deleting))
    return { before, turnsOn, collections }
  }

  /** Makes the switch and the version known, once all indexes are there. */
  async function record(call: Call, collections: readonly IndexedCollection[], turnsOn: boolean) {
    if (collections.includes('events')) await restoreQueues(namespace)
    // `$max`, because newer code may have migrated further meanwhile.
    const state = { version: SCHEMA_VERSION, minCompatible: MIN_COMPATIBLE_VERSION }
    const turnOn = turnsOn && { $set: { events: true }, $inc: { eventRequests: 1 } }
    await namespace.schema.updateOne({ _id: STATE_ID }, { $max: state, ...turnOn }, { upsert: true })
    if (events === false) {
      // Unless another process has turned them on since. In a filter, `null` also matches a missing field.
      const filter = { _id: STATE_ID, eventRequests: requestsAtStart || null }
      await namespace.schema.updateOne(filter, { $set: { events: false } })
    }
    return readState(namespace, call)
  }
}

const SECOND = 1000
/** Seconds between two reports of an index that is being built. */
const REPORT_INTERVAL = 10

/** Builds missing indexes. All members with data have to take part, so one that is down keeps this waiting. */
async function buildIndexes(
  namespace: Namespace,
  collections: readonly IndexedCollection[],
  onProgress: MigrateOptions['onProgress'],
): Promise<void> {
  const differences = await indexDifferences(namespace, collections)
  const conflicting = differences.find(({ found }) => found !== null)
  refuse(conflicting && describeDifference(conflicting))
  for (const name of collections) {
    const { collectionName } = namespace[name]
    const missing = differences.filter(({ collection }) => collection === collectionName)
    if (missing.length === 0) continue
    const names = missing.map(({ index }) => index.name).join(', ')
    const waitingFor =
      `migrate() waits for MongoDB to build indexes of ${collectionName}: ${names}. ` +
      'Every member with data takes part.'
    await whileReporting(
      () => onProgress?.({ waitingFor }),
      () => namespace[name].createIndexes(missing.map(({ index }) => specification(index))),
    )
  }
}

/** Reports after a second, and then again and again. Rejects with what a report throws. */
async function whileReporting(report: () => unknown, work: () => Promise<unknown>): Promise<void> {
  let seconds = 0
  let timer: ReturnType<typeof setInterval> | undefined
  const failedReport = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (seconds++ % REPORT_INTERVAL === 0) Promise.resolve().then(report).catch(reject)
    }, SECOND)
  })
  try {
    await Promise.race([work(), failedReport])
  } finally {
    clearInterval(timer)
  }
}

async function createCollection({ db }: Namespace, name: string): Promise<void> {
  try {
    await db.createCollection(name)
  } catch (error) {
    if (serverCode(error) !== COLLECTION_EXISTS) throw error
  }
}

/**
 * Makes queues whose oldest event is lost, as after a dump that is not of one moment, begin with the next one. Every
 * update names the lost event, so it changes no queue that goes on by itself.
 */
async function restoreQueues({ events }: Namespace): Promise<void> {
  const oldest = { from: events.collectionName, localField: 'head', foreignField: '_id', as: 'oldest' }
  // Without hints, because another process may still be building the indexes.
  const stuck = events.aggregate<QueueDocument>([
    { $match: { ripeAt: { $exists: true } } },
    { $lookup: oldest },
    { $match: { oldest: [] } },
  ])
  for await (const { _id, head, n } of stuck) {
    const next = await events.findOne({ queue: _id }, { sort: { order: 1 } })
    if (next === null) await events.deleteOne({ _id, head, n })
    else
      await events.updateOne(
        { _id, head },
        { $set: { head: next._id, tried: false }, $unset: { claim: 1, attempts: 1 } },
      )
  }
}
