import { StorageError } from '../../../core/errors.js'
import { flawOfMember } from '../connection/direct.js'
import { serverCode } from '../connection/failures.js'
import { isRouted, runCommand, type Namespace } from '../connection/namespace.js'
import { TRANSACTION } from '../connection/transactions.js'
import { COLLECTIONS } from './indexes.js'

/** The wire version of MongoDB 5.0, the first with snapshot reads outside transactions. */
const WIRE_VERSION = 13

/** Returns why the server can't hold the adapter's collections, in a sentence; `null` if it can. */
export async function serverFlaw(namespace: Namespace): Promise<string | null> {
  const hello = await runCommand(namespace, { hello: 1 })
  const flaw = flawOfMember(hello)
  if (flaw !== null) return flaw
  if (Number(hello['maxWireVersion']) < WIRE_VERSION) return 'MongoDB 5.0 or later is required.'
  return null
}

/** Returns why existing collections of the adapter can't be used, one sentence for each of them. */
export async function collectionFlaws(namespace: Namespace): Promise<string[]> {
  return (await listCollections(namespace)).flatMap(({ name, type, options }) => {
    if (type !== 'collection') return [`${name} must be an ordinary collection (it is a ${type}).`]
    if (options['collation'] !== undefined) {
      return [`${name} must not have a collation: with one, different keys could count as equal.`]
    }
    if (options['capped'] === true) return [`${name} must not be capped: a capped collection loses records.`]
    if (options['expireAfterSeconds'] !== undefined) {
      return [`${name} must not delete documents by their age (expireAfterSeconds).`]
    }
    return []
  })
}

/** Returns which existing collections have a validator, which may refuse what the adapter writes. */
export async function validatorFlaws(namespace: Namespace): Promise<string[]> {
  const found = await listCollections(namespace)
  return found.flatMap(({ name, options: { validator, validationLevel, validationAction } }) => {
    const refuses = validationLevel !== 'off' && validationAction !== 'warn'
    if (validator === undefined || !refuses || Object.keys(Object(validator) as object).length === 0)
      return []
    return [`${name} must not have a validator, which can refuse documents. Drop it.`]
  })
}

interface FoundCollection {
  readonly name: string
  readonly type: string
  readonly options: Readonly<Record<string, unknown>>
}

async function listCollections(namespace: Namespace): Promise<FoundCollection[]> {
  // One by one, because small tiers of Atlas refuse a filter with `$in`.
  const found = await Promise.all(
    COLLECTIONS.map((key) => namespace.db.listCollections({ name: namespace[key].collectionName }).toArray()),
  )
  return found.flat().map(({ name, type, ...rest }) => ({
    name,
    type: String(type),
    options: 'options' in rest ? (rest.options ?? {}) : {},
  }))
}

/** A collection that the router of a sharded cluster knows. */
interface RoutedCollection {
  readonly _id: string
  readonly key: Readonly<Record<string, unknown>>
  /** Set if the collection is on one shard, but tracked. */
  readonly unsplittable?: boolean
}

const UNAUTHORIZED = 13

/** Returns why sharded collections can't be used: only these shard keys keep `_id` unique and let writes create it. */
export async function shardingFlaws(namespace: Namespace): Promise<string[]> {
  if (!(await isRouted(namespace))) return []
  const { db, openDatabase } = namespace
  const names = COLLECTIONS.map((name) => `${db.databaseName}.${namespace[name].collectionName}`)
  const routed = await openDatabase('config')
    .collection<RoutedCollection>('collections')
    .find({ _id: { $in: names } })
    .toArray()
    .catch((error: unknown) => {
      // A role for one database only may not read it.
      if (serverCode(error) === UNAUTHORIZED) return []
      throw error
    })
  return routed.flatMap(({ _id, key, unsplittable }) => {
    if (unsplittable) return []
    const name = _id.slice(db.databaseName.length + 1)
    if (name === namespace.events.collectionName) {
      return [`${name} must not be sharded: its queries read from several documents at once.`]
    }
    const shown = JSON.stringify(key)
    if (shown === '{"_id":"hashed"}' || shown === '{"_id":1}') return []
    return [`${name} must be sharded by {"_id":"hashed"} or {"_id":1}, or not at all (found ${shown}).`]
  })
}

/** Returns a sentence if the server doesn't roll a write back: some that speak the protocol ignore transactions. */
export async function rollbackFlaw({ client, schema }: Namespace): Promise<string | null> {
  const probe = { _id: `probe of transactions ${crypto.randomUUID()}` }
  const session = client.startSession()
  try {
    session.startTransaction(TRANSACTION)
    await schema.insertOne(probe, { session })
    await session.abortTransaction()
  } finally {
    await session.endSession()
  }
  const { deletedCount } = await schema.deleteOne(probe)
  if (deletedCount === 0) return null
  return 'The server reported a rollback but kept what the transaction had written: the adapter needs real transactions.'
}

/** @throws StorageError `DATABASE_UNAVAILABLE`, not retryable, with this message, unless there is none. */
export function refuse(flaw: string | null | undefined): void {
  if (flaw != null) throw new StorageError('DATABASE_UNAVAILABLE', { message: flaw, retryable: false })
}
