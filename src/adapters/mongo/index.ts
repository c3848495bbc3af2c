import type { Db } from 'mongodb'
import { createStore } from '../../core/store/create-store.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { openPlace } from './connection/place.js'
import { createMongoDriver } from './mongo-driver.js'

const DEFAULT_PREFIX = 'svc_db_'

/** Milliseconds. Longer than an election takes, and as long as the driver looks for a server by default. */
const LIMIT = 30_000

export interface MongoAdapterOptions {
  /** What the names of the adapter's four collections begin with. Default `svc_db_`. */
  readonly collectionPrefix?: string | undefined
  /** The clock of the store. Default: the system's. */
  readonly now?: (() => Date) | undefined
}

/**
 * A store in MongoDB 5.0 or later, on a replica set (one member is enough), over a `Db` of the driver `mongodb` 6 or 7.
 * Call `migrate()` once before anything else. The client stays the caller's to configure and to close; what it says of
 * read and write concern, read preference and the types of values doesn't matter here.
 *
 * A call ends with `DATABASE_UNAVAILABLE` when the server has not answered for 30 s, all that was tried again in that
 * time included. Whether a write took effect is unknown then. `checkUsage` and `repairUsage`, which read all rows, wait
 * for 300 s, as long as the server reads at one moment by its default settings.
 *
 * @throws TypeError for a `Db` that is none, or a prefix that no collection can have.
 */
export function mongoAdapter(db: Db, options: MongoAdapterOptions = {}): StorageObjectStore {
  const { collectionPrefix = DEFAULT_PREFIX, now } = options
  const place = openPlace(checkDb(db), checkPrefix(collectionPrefix))
  return createStore(createMongoDriver({ place, limit: LIMIT }), { now })
}

function checkDb(db: Db): Db {
  const given = Object(db) as { collection?: unknown; client?: { startSession?: unknown } }
  if (typeof given.collection === 'function' && typeof given.client?.startSession === 'function') return db
  throw new TypeError('db must be a Db of the driver mongodb, as client.db() makes it.')
}

/** Bytes of UTF-8. With the names of database and collection the server takes 255, or 120 before version 4.4. */
const LONGEST_PREFIX = 100

function checkPrefix(prefix: string): string {
  if (typeof prefix !== 'string') throw new TypeError('collectionPrefix must be a string.')
  const isTooLong = new TextEncoder().encode(prefix).length > LONGEST_PREFIX
  if (isTooLong || /[$\0]|^\.|^system\.|\.\./.test(prefix)) {
    throw new TypeError(
      `collectionPrefix must be at most ${LONGEST_PREFIX} bytes without "$" and NUL, and not begin with "." or "system."; it is ${JSON.stringify(prefix)}.`,
    )
  }
  return prefix
}
