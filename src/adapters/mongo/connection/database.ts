import type { Db } from 'mongodb'
import { StorageError } from '../../../core/errors.js'
import { shownHandle } from '../../../core/store/validation/checks.js'
import { type Namespace, openNamespace } from './namespace.js'

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

const NOT_OPEN =
  'The connection to MongoDB is not open yet: the function passed to mongoAdapter returned no database.'

/**
 * Returns the namespace of a connection that opens later. Each use of it looks for the `Db`, and throws
 * `DATABASE_UNAVAILABLE` until there is one. A connection that is opened again has another `Db`.
 */
export function lateNamespace(findDatabase: MongoDatabaseSource, prefix: string): Namespace {
  const opened = new WeakMap<Db, Namespace>()

  function current(): Namespace {
    const found = findDatabase()
    if (found === null || found === undefined) {
      throw new StorageError('DATABASE_UNAVAILABLE', { message: NOT_OPEN })
    }
    const db = checkDatabase(`mongoAdapter: the function must return ${A_DATABASE}: ${SEE}`, found)
    const namespace = opened.get(db) ?? openNamespace(db, prefix)
    opened.set(db, namespace)
    return namespace
  }

  return new Proxy({} as Namespace, {
    get: (_, property) => current()[property as keyof Namespace],
  })
}
