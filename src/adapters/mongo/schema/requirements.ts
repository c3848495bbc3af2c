import { StorageError } from '../../../core/errors.js'
import { runCommand, type Place } from '../connection/place.js'
import { TRANSACTION } from '../connection/transactions.js'
import { COLLECTIONS } from './indexes.js'

/** That of MongoDB 5.0, which is the first to read several collections at one moment without a transaction. */
const WIRE_VERSION = 13

/** Whatever the server is, in a sentence; `null` where it can have the adapter's collections. */
export async function serverFlaw(place: Place): Promise<string | null> {
  const hello = await runCommand(place, { hello: 1 })
  if (hello['setName'] === undefined && hello['msg'] !== 'isdbgrid') {
    return (
      'MongoDB must be a replica set (one member is enough): a standalone server has no transactions. ' +
      'Start it with --replSet and run rs.initiate() once.'
    )
  }
  if (Number(hello['maxWireVersion']) < WIRE_VERSION) return 'MongoDB 5.0 or later is needed.'
  return null
}

/** Collections of the adapter that are there but can't be used, in sentences. */
export async function collectionFlaws(place: Place): Promise<string[]> {
  const names = COLLECTIONS.map((name) => place[name].collectionName)
  const found = await place.db.listCollections({ name: { $in: names } }).toArray()
  return found.flatMap(({ name, type, ...rest }) => {
    const options: Readonly<Record<string, unknown>> = 'options' in rest ? (rest.options ?? {}) : {}
    if (type !== 'collection') return [`${name} is a ${type}, and must be an ordinary collection.`]
    if (options['collation'] !== undefined) {
      return [`${name} has a collation: its texts must be compared byte for byte, or two keys become one.`]
    }
    if (options['capped'] === true) return [`${name} is capped, and would lose records.`]
    return []
  })
}

/**
 * Some servers that speak MongoDB's language answer every command of a transaction with yes and carry out none of them.
 * So one is rolled back, to see whether what it wrote is there.
 */
export async function rollbackFlaw({ client, schema }: Place): Promise<string | null> {
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
  return (
    'The server says that it has rolled a transaction back, but what was written in it is there: ' +
    'the adapter needs transactions that are performed.'
  )
}

export function refuse(flaw: string | null | undefined): void {
  if (flaw != null) throw new StorageError('DATABASE_UNAVAILABLE', { message: flaw })
}
