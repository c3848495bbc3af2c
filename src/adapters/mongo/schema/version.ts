import { readNumber } from '../connection/bson.js'
import type { Call } from '../connection/deadline.js'
import { refuseDirectConnection } from '../connection/direct.js'
import { NOT_MIGRATED } from '../connection/failures.js'
import type { Namespace } from '../connection/namespace.js'
import { majority, readWithRetry } from '../connection/reads.js'
import { refuse } from './requirements.js'

/** The version that `migrate()` creates, and the lowest that this code accepts. Version 2 added indexes. */
export const SCHEMA_VERSION = 2

/** The lowest schema version whose code may still use the collections after `migrate()`. */
export const MIN_COMPATIBLE_VERSION = 1

export const STATE_ID = 'version'

/** The recorded version of the collections, and the lowest version of code that may use them. */
export type SchemaState = Awaited<ReturnType<typeof readState>>

/** How long a checked state is trusted, in milliseconds. */
const CHECK_LIFETIME = 60_000

export async function readState(namespace: Namespace, call: Call) {
  const document = await readWithRetry(namespace, call, ({ session }) =>
    namespace.schema.findOne({ _id: STATE_ID }, { session, ...majority() }),
  )
  return {
    version: readNumber(document?.['version'] ?? 0),
    minCompatible: readNumber(document?.['minCompatible'] ?? 0),
    /** Whether changes are recorded as events. */
    events: document?.['events'] === true,
    /** How often a `migrate()` asked for events, so that one without them notices another at the same time. */
    eventRequests: readNumber(document?.['eventRequests'] ?? 0),
  }
}

/** Returns an error message if newer code has made the collections unusable for this code, otherwise `null`. */
export function tooNew({ version, minCompatible }: SchemaState): string | null {
  if (minCompatible <= SCHEMA_VERSION) return null
  return (
    `The collections have schema version ${version}, which requires code of schema version ${minCompatible} or later; ` +
    `this code has ${SCHEMA_VERSION}. Use a newer release of the library: migrate() never downgrades.`
  )
}

/**
 * Builds a check that rejects calls on collections that this code can't use: MongoDB would create missing ones without
 * indexes. A result is trusted for a minute.
 */
export function createStateCheck(namespace: Namespace) {
  let trustedUntil = -Infinity
  let recordsEvents = false
  let generation = 0
  return {
    async check(call: Call): Promise<void> {
      if (performance.now() < trustedUntil) return
      const readIn = generation
      await refuseDirectConnection(namespace)
      const state = await readState(namespace, call)
      refuse(state.version < SCHEMA_VERSION ? NOT_MIGRATED : tooNew(state))
      recordsEvents = state.events
      // A migration may have ended during the read.
      if (readIn === generation) trustedUntil = performance.now() + CHECK_LIFETIME
    },
    /** Whether changes are recorded as events, as of the last check. */
    get recordsEvents() {
      return recordsEvents
    },
    forget() {
      generation++
      trustedUntil = -Infinity
    },
  }
}
