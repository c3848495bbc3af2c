import { StorageError } from '../../../core/errors.js'
import { NOT_MIGRATED } from '../connection/failures.js'
import type { Call } from '../connection/patience.js'
import type { Place } from '../connection/place.js'
import { majority, readAgain } from '../connection/reads.js'
import { readNumber } from '../documents/numbers.js'

/** How far the collections have come, and from which version on code may use them. */
export interface SchemaState {
  readonly version: number
  readonly minCompatible: number
}

/** Where nothing was migrated yet. */
const NOTHING: SchemaState = { version: 0, minCompatible: 0 }

/** The `_id` of the document that says so. */
export const STATE_ID = 'version'

/** What this code makes, and can work on. */
export const THIS_VERSION: SchemaState = { version: 1, minCompatible: 1 }

/** How long an answer is believed, in milliseconds. */
const BELIEVED = 60_000

export async function readState(place: Place, call: Call): Promise<SchemaState> {
  const document = await readAgain(place, call, (session) =>
    place.schema.findOne<SchemaState>({ _id: STATE_ID }, { session, ...majority() }),
  )
  if (!document) return NOTHING
  return { version: readNumber(document.version), minCompatible: readNumber(document.minCompatible) }
}

/** What is wrong with collections that newer code has left behind; `null` where this code still may use them. */
export function tooNew({ version, minCompatible }: SchemaState): string | null {
  if (minCompatible <= THIS_VERSION.version) return null
  return (
    `The collections have version ${version}, which takes code of version ${minCompatible} or later; this is ` +
    `version ${THIS_VERSION.version}. Use a newer release of the library: migrate() never goes back.`
  )
}

/**
 * Checks, before a call, that the collections are such as this code needs. MongoDB would make missing ones at the first
 * write, without their indexes. An answer is believed for a minute, so that nearly no call asks.
 */
export function createStateCheck(place: Place): (call: Call) => Promise<void> {
  let believedUntil = -Infinity
  return async (call) => {
    if (performance.now() < believedUntil) return
    const state = await readState(place, call)
    if (state.version < THIS_VERSION.version) {
      throw new StorageError('DATABASE_UNAVAILABLE', { message: NOT_MIGRATED })
    }
    const flaw = tooNew(state)
    if (flaw !== null) throw new StorageError('DATABASE_UNAVAILABLE', { message: flaw })
    believedUntil = performance.now() + BELIEVED
  }
}
