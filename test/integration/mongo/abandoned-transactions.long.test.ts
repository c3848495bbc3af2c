import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe } from 'vitest'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import { abandonedTransactionTests } from './abandoned-transactions.js'
import { routerReason, startCluster } from './sharded-databases.js'

describe.skipIf(routerReason !== '')(
  `a transaction of a process that no longer acts, through mongos${routerReason}`,
  () => {
    let cluster: ShardedCluster
    let client: MongoClient
    beforeAll(async () => {
      cluster = await startCluster({ transactionSeconds: 60 })
      client = new MongoClient(cluster.url)
    })
    afterAll(async () => {
      await client.close()
      await cluster.remove()
    })
    abandonedTransactionTests(() => ({ url: cluster.url, client }))
  },
)
