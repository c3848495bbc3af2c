import { afterAll, beforeAll, describe } from 'vitest'
import type { ShardedCluster } from '../../servers/sharded-cluster.js'
import { abandonedTransactionTests } from './abandoned-transactions.js'
import { routerReason, startCluster } from './sharded-databases.js'

describe.skipIf(routerReason !== '')(
  `a transaction of a process that no longer acts, through mongos${routerReason}`,
  () => {
    let cluster: ShardedCluster
    beforeAll(async () => {
      cluster = await startCluster({ transactionSeconds: 60 })
    })
    afterAll(() => cluster.remove())
    abandonedTransactionTests(() => cluster.url)
  },
)
