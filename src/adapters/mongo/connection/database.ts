import type { Db } from 'mongodb'
import { shownHandle } from '../../../core/store/validation/checks.js'

/**
 * The parts of a `Db` by which the adapter recognizes one. The type is structural, so it fits a `Db` of any copy of the
 * driver, such as the one in mongoose. It lacks `client`, which every `Db` has but mongodb 6.0 doesn't declare.
 */
export interface MongoDatabase {
  readonly databaseName: string
  collection(name: string, options?: never): unknown
  command(command: never, options?: never): unknown
}

/** Returns the `Db` of a connection that opens later, and nothing before that. */
export type MongoDatabaseSource = () => MongoDatabase | null | undefined

export const A_DATABASE = 'a Db of mongodb 6 or later'
export const SEE = 'see docs/your-orm.md'

/** @throws TypeError if the value is not a `Db`. `message` says what is allowed. */
export function checkDatabase(message: string, value: unknown): Db {
  const given = Object(value) as Readonly<Record<string, unknown>>
  const { startSession } = Object(given['client']) as { readonly startSession?: unknown }
  const has = (method: string) => typeof given[method] === 'function'
  // Only a `Db` of mongodb 5 or earlier has `addUser`.
  if (has('collection') && has('command') && typeof startSession === 'function' && !has('addUser')) {
    return value as Db
  }
  throw new TypeError(`${message} (got ${shownHandle(value)}).`)
}

/** Returns the same `Db` for each that a client creates of one database. */
export function createSameDatabase(): (db: Db) => Db {
  const known = new WeakMap<object, Map<string, Db>>()
  return (db) => {
    const ofClient = known.get(db.client) ?? new Map<string, Db>()
    const same = ofClient.get(db.databaseName) ?? db
    known.set(db.client, ofClient.set(db.databaseName, same))
    return same
  }
}
