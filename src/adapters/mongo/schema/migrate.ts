import type { MigrationResult } from '../../../core/store/contract.js'
import { mayBeginAgain, serverCode } from '../connection/failures.js'
import type { Call } from '../connection/patience.js'
import { pauseAfter } from '../connection/pause.js'
import type { Place } from '../connection/place.js'
import { describeFlaw, indexFlaws } from './found-indexes.js'
import { COLLECTIONS, INDEXES, specification } from './indexes.js'
import { collectionFlaws, refuse, rollbackFlaw, serverFlaw } from './requirements.js'
import { readState, STATE_ID, THIS_VERSION, tooNew } from './state.js'

const COLLECTION_EXISTS = 48
const TRIES = 20

/**
 * Makes the collections and indexes that are missing. Any number of processes may do it at once: each step finds done
 * what another did first. Nothing that is there is changed; what is there otherwise is refused.
 *
 * @throws StorageError `DATABASE_UNAVAILABLE` where the server or what is in the database can't be used.
 */
export async function migrate(place: Place): Promise<MigrationResult> {
  for (let failures = 0; ; failures++) {
    try {
      return await migrateOnce(place)
    } catch (error) {
      // Others that do the same, and an election in between; each step may be done twice.
      if (!mayBeginAgain(error) || failures === TRIES) throw error
      await pauseAfter(failures)
    }
  }
}

async function migrateOnce(place: Place): Promise<MigrationResult> {
  refuse(await serverFlaw(place))
  refuse((await collectionFlaws(place))[0])
  const before = await readState(place, ENDLESS)
  refuse(tooNew(before))
  for (const name of COLLECTIONS) await createCollection(place, place[name].collectionName)
  refuse(await rollbackFlaw(place))
  if (before.version > THIS_VERSION.version) return { from: before.version, to: before.version }

  const otherwise = (await indexFlaws(place)).find(({ found }) => found !== null)
  refuse(otherwise && `${describeFlaw(otherwise)} Drop it, and run migrate() again.`)
  for (const name of COLLECTIONS) {
    const indexes = INDEXES[name].map(specification)
    if (indexes.length > 0) await place[name].createIndexes(indexes)
  }
  // Whoever comes late never takes back what newer code has written.
  await place.schema.updateOne({ _id: STATE_ID }, { $max: THIS_VERSION }, { upsert: true })
  const after = await readState(place, ENDLESS)
  refuse(tooNew(after))
  return { from: before.version, to: after.version }
}

async function createCollection({ db }: Place, name: string): Promise<void> {
  try {
    await db.createCollection(name)
  } catch (error) {
    if (serverCode(error) !== COLLECTION_EXISTS) throw error
  }
}

/** Nobody limits how long a migration takes: an index over many documents is built as long as it is. */
const ENDLESS: Call = { givenUp: false, givingUp: new Promise(() => {}), trouble: undefined }
