import type { Db } from 'mongodb'
import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { openNamespace } from './connection/namespace.js'
import { createMongoDriver } from './mongo-driver.js'

const DEFAULT_PREFIX = 'svc_db_'

/** Milliseconds. Longer than an election, and the driver's own default for finding a server. */
const TIMEOUT = 30_000

export interface MongoAdapterOptions {
  /** Prefix of the names of the adapter's four collections. Default: `svc_db_`. */
  readonly collectionPrefix?: string | undefined
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | undefined
}

/**
 * Creates a store in MongoDB 5.0 or later, on a replica set (one member is enough), from a `Db` of the driver
 * `mongodb` 6 or 7. Call `migrate()` before any other call. You configure and close the client; the adapter overrides
 * its read and write concern, read preference and BSON options.
 *
 * Calls reject with `DATABASE_UNAVAILABLE` if the server does not respond within 30 s, retries included. Whether a
 * write took effect is then unknown. `checkUsage` and `repairUsage` read all rows, so they get 300 s, the longest that
 * the server can read from one moment by default.
 *
 * @throws TypeError if `db` is not a `Db`, or if no collection name can start with `collectionPrefix`.
 */
export function mongoAdapter(db: Db, options: MongoAdapterOptions = {}): StorageObjectStore {
  const { collectionPrefix = DEFAULT_PREFIX, now } = options
  const namespace = openNamespace(checkDb(db), checkPrefix(collectionPrefix))
  return createStore(createMongoDriver({ namespace, timeout: TIMEOUT }), { now })
}

function checkDb(db: Db): Db {
  const given = Object(db) as { collection?: unknown; client?: { startSession?: unknown } }
  if (typeof given.collection === 'function' && typeof given.client?.startSession === 'function') return db
  throw new TypeError('db must be a Db of the driver mongodb, as returned by client.db().')
}

/** UTF-8 bytes. The server allows 255 for the names of database and collection together. */
const LONGEST_PREFIX = 100

function checkPrefix(prefix: string): string {
  if (typeof prefix !== 'string') {
    throw new TypeError(`collectionPrefix must be a string (got ${typeof prefix}).`)
  }
  const isTooLong = new TextEncoder().encode(prefix).length > LONGEST_PREFIX
  if (isTooLong || /[$\0]|^\.|^system\.|\.\./.test(prefix)) {
    throw new TypeError(
      `collectionPrefix must have at most ${LONGEST_PREFIX} bytes, must not contain "$", NUL or "..", and must not start with "." or "system." (got ${JSON.stringify(prefix)}).`,
    )
  }
  return prefix
}
