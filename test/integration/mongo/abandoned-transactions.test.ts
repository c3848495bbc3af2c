import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe } from 'vitest'
import { installedMongod, startReplicaSet, type ReplicaSet } from '../../servers/mongod.js'
import { abandonedTransactionTests } from './abandoned-transactions.js'

const program = installedMongod()
const reason = program === null ? ' (skipped: PATH has no mongod, and the shared one has a lower limit)' : ''

describe.skipIf(program === null)(`a transaction of a process that no longer acts${reason}`, () => {
  let set: ReplicaSet
  let client: MongoClient
  beforeAll(async () => {
    // With MongoDB's own limit of 60 s, which is longer than a call waits.
    set = await startReplicaSet(program!, { members: 1, durable: false })
    client = new MongoClient(set.url)
  })
  afterAll(async () => {
    await client.close()
    await set.remove()
  })
  abandonedTransactionTests(() => ({ url: set.url, client }))
})
