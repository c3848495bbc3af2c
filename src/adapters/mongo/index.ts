import type { Db } from 'mongodb'
import { utf8Length } from '../../core/bytes.js'
import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { shown, shownHandle } from '../../core/store/validation/checks.js'
import { lateDriver } from '../shared/late-driver.js'
import { openNamespace } from './connection/namespace.js'
import { createMongoDriver } from './driver.js'

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

const checks = new OptionChecks('mongoAdapter')

const DEFAULT_PREFIX = 'svc_db_'

/** Milliseconds. Longer than an election, and the driver's own default for finding a server. */
const TIMEOUT = 30_000

export interface MongoAdapterOptions {
  /** Prefix of the names of the adapter's five collections. Default: `svc_db_`. */
  readonly collectionPrefix?: string | null | undefined
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
  /**
   * Whether changes are recorded as events. `migrate()` stores it in the database, and from then on all processes act
   * on it, whatever their own option: within a minute, those of 2.0 or later. Left out, it stays as it is; at first,
   * events are off. If processes migrate with and without `true` at the same time, events are on.
   */
  readonly events?: boolean | null | undefined
}

const OPTIONS = namesOf<MongoAdapterOptions>({ collectionPrefix: true, now: true, events: true })

/**
 * Creates a store in MongoDB 5.0 or later, on a replica set (one member is enough), from a `Db` of the driver
 * `mongodb` 6 or 7, of any copy of it, such as `connection.db` of mongoose. For a connection that opens later, pass a
 * function that returns its `Db`. Each call asks it once, and rejects with `DATABASE_UNAVAILABLE` until it does. Call `migrate()` before any
 * other call. You configure and close the client; the adapter overrides its read and write concern, read preference and
 * BSON options.
 *
 * Calls reject with `DATABASE_UNAVAILABLE` if the server does not respond within 30 s, retries included. Whether a
 * write took effect is then unknown. `checkUsage` and `repairUsage` read all rows, so they get 300 s, the longest that
 * the server can read from one moment by default.
 *
 * @throws TypeError if `db` is neither a `Db` nor a function, if no collection name can start with
 * `collectionPrefix`, or if another option is invalid.
 *
 * @example
 * import { MongoClient } from 'mongodb'
 * import { mongoAdapter } from '@svc/db/mongo'
 *
 * const client = new MongoClient('mongodb://localhost:27017/?replicaSet=rs0')
 * const store = mongoAdapter(client.db('app'))
 * await store.migrate()
 */
export function mongoAdapter(
  db: MongoDatabase | MongoDatabaseSource,
  options?: MongoAdapterOptions | null,
): StorageObjectStore {
  const { collectionPrefix, now, events } = checks.optionalOptions(options, OPTIONS)
  const prefix = checkPrefix(collectionPrefix ?? DEFAULT_PREFIX)
  const clock = checks.function('now', now)
  const checked = { timeout: TIMEOUT, events: checks.boolean('events', events) }
  const open = (given: Db) => createMongoDriver({ namespace: openNamespace(given, prefix), ...checked })
  const driver = isSource(db)
    ? lateDriver({ find: checkedSource(db), notOpen: NOT_OPEN, open })
    : open(checkDatabase(`db must be ${A_DATABASE}, or a function that returns one`, db))
  return createStore(driver, { now: clock })
}

const A_DATABASE = 'a Db of mongodb 6 or later'
const NOT_OPEN =
  'The connection to MongoDB is not open yet: the function passed to mongoAdapter returned no database.'

/** Returns the same `Db` for each that a client creates of one database. A connection that is opened again has another client. */
function checkedSource(findDatabase: MongoDatabaseSource): () => Db | null {
  const known = new WeakMap<object, Map<string, Db>>()
  return () => {
    const found = findDatabase()
    if (found === null || found === undefined) return null
    const db = checkDatabase(`the function must return ${A_DATABASE}`, found)
    const ofClient = known.get(db.client) ?? new Map<string, Db>()
    const same = ofClient.get(db.databaseName) ?? db
    known.set(db.client, ofClient.set(db.databaseName, same))
    return same
  }
}

/** @throws TypeError if the value is not a `Db`. `message` says what is allowed. */
function checkDatabase(message: string, value: unknown): Db {
  const given = Object(value) as Readonly<Record<string, unknown>>
  const { startSession } = Object(given['client']) as { readonly startSession?: unknown }
  const has = (method: string) => typeof given[method] === 'function'
  // Only a `Db` of mongodb 5 or earlier has `addUser`.
  if (has('collection') && has('command') && typeof startSession === 'function' && !has('addUser')) {
    return value as Db
  }
  throw checks.error(`${message}: see docs/your-orm.md (got ${shownHandle(value)}).`)
}

/** A class is a function too, but calling it fails. */
function isSource(db: MongoDatabase | MongoDatabaseSource): db is MongoDatabaseSource {
  return typeof db === 'function' && !('collection' in (Object(db.prototype) as object))
}

/** UTF-8 bytes. The server allows 255 for the names of database and collection together. */
const LONGEST_PREFIX = 100

function checkPrefix(prefix: string): string {
  if (typeof prefix !== 'string') {
    throw checks.error(`collectionPrefix must be a string (got ${shown(prefix)}).`)
  }
  if (utf8Length(prefix) > LONGEST_PREFIX || /[$\0]|^\.|^system\.|\.\./.test(prefix)) {
    throw checks.error(
      `collectionPrefix must have at most ${LONGEST_PREFIX} bytes, must not contain "$", NUL or "..", and must not start with "." or "system." (got ${JSON.stringify(prefix)}).`,
    )
  }
  return prefix
}
