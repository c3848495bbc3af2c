import type { MigrationResult } from '../../../core/store/contract.js'
import { backOff, NO_DEADLINE } from '../connection/deadline.js'
import { isRetryable, serverCode } from '../connection/failures.js'
import type { Namespace } from '../connection/namespace.js'
import { describeDifference, indexDifferences } from './index-differences.js'
import { COLLECTIONS, INDEXES, specification } from './indexes.js'
import { collectionFlaws, refuse, rollbackFlaw, serverFlaw } from './requirements.js'
import { MIN_COMPATIBLE_VERSION, readState, SCHEMA_VERSION, STATE_ID, tooNew } from './version.js'

const COLLECTION_EXISTS = 48
const MAX_RETRIES = 20

/**
 * Creates missing collections and indexes. Every step is idempotent, so any number of processes may migrate at once.
 * Existing indexes are never changed: an index with another definition is an error.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` if the server, a collection or an index can't be used.
 */
export async function migrate(namespace: Namespace): Promise<MigrationResult> {
  for (let failures = 0; ; failures++) {
    try {
      return await migrateOnce(namespace)
    } catch (error) {
      // Concurrent migrations conflict, and an election may interrupt one.
      if (!isRetryable(error) || failures === MAX_RETRIES) throw error
      await backOff(failures)
    }
  }
}

// Without a deadline: building an index may take hours.
async function migrateOnce(namespace: Namespace): Promise<MigrationResult> {
  refuse(await serverFlaw(namespace))
  refuse((await collectionFlaws(namespace))[0])
  const before = await readState(namespace, NO_DEADLINE)
  refuse(tooNew(before))
  for (const name of COLLECTIONS) await createCollection(namespace, namespace[name].collectionName)
  refuse(await rollbackFlaw(namespace))
  if (before.version > SCHEMA_VERSION) return { from: before.version, to: before.version }

  const conflicting = (await indexDifferences(namespace)).find(({ found }) => found !== null)
  refuse(conflicting && `${describeDifference(conflicting)} Drop it and run migrate() again.`)
  for (const name of COLLECTIONS) {
    const indexes = INDEXES[name].map(specification)
    if (indexes.length > 0) await namespace[name].createIndexes(indexes)
  }
  // `$max`, because newer code may have migrated further meanwhile.
  const state = { version: SCHEMA_VERSION, minCompatible: MIN_COMPATIBLE_VERSION }
  await namespace.schema.updateOne({ _id: STATE_ID }, { $max: state }, { upsert: true })
  const after = await readState(namespace, NO_DEADLINE)
  refuse(tooNew(after))
  return { from: before.version, to: after.version }
}

async function createCollection({ db }: Namespace, name: string): Promise<void> {
  try {
    await db.createCollection(name)
  } catch (error) {
    if (serverCode(error) !== COLLECTION_EXISTS) throw error
  }
}
