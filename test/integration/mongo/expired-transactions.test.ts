import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startReplicaSet, type ReplicaSet } from '../../servers/mongod.js'
import { freshDatabase } from './databases.js'

const program = installedMongod()
const reason =
  program === null ? ' (skipped: PATH has no mongod, and tests must not stop writes of a shared one)' : ''
const EXPIRES = new Date('2100-01-01')

describe.skipIf(program === null)(
  `a transaction that the server ends because it lasts too long${reason}`,
  () => {
    let set: ReplicaSet
    let client: MongoClient
    beforeAll(async () => {
      set = await startReplicaSet(program!, { members: 1, transactionSeconds: 1, failPoints: true })
      client = new MongoClient(set.url)
    })
    afterAll(async () => {
      await client.close()
      await set.remove()
    })

    const admin = (command: object) => client.db('admin').command({ ...command })
    const hang = (mode: 'alwaysOn' | 'off') =>
      admin({ configureFailPoint: 'hangDuringBatchUpdate', mode, data: { shouldCheckForInterrupt: true } })

    async function abortedTransactions(): Promise<number> {
      const { transactions } = await admin({ serverStatus: 1 })
      return Number((transactions as { totalAborted: number }).totalAborted)
    }

    // The server reports it as an error of the statement that ran, without a label that says whether to retry.
    it('is tried again, and the call succeeds', async () => {
      const store = mongoAdapter(freshDatabase(client))
      await store.migrate()
      const at = { bucket: 'bucket', key: 'key' }
      const aborted = await abortedTransactions()
      await hang('alwaysOn')
      const reserving = store.reserve({ ...at, scope: 'ann', declaredSize: 5, expiresAt: EXPIRES })
      await expect.poll(() => abortedTransactions()).toBeGreaterThan(aborted)
      await hang('off')
      const row = await reserving
      expect(await store.findPending(at)).toEqual(row)
      expect(await store.checkUsage()).toEqual([])
    })
  },
)
