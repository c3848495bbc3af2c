import { describe, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { installedMongod, startReplicaSet } from '../../servers/mongod.js'
import { expectToSurviveOutage } from '../races/delivery-outage.js'
import { clientOf } from './databases.js'

const program = installedMongod()
const reason = 'tests must not kill a shared server; put a mongod on PATH'
if (program === null) console.warn(`Skipped: deliverEvents on a MongoDB that is killed. ${reason}`)

describe.skipIf(program === null)(
  `deliverEvents on a MongoDB that is killed and restarted${program === null ? ` (${reason})` : ''}`,
  () => {
    it('goes on where it was', async () => {
      const set = await startReplicaSet(program!, { members: 1 })
      const client = clientOf(set.url, { serverSelectionTimeoutMS: 500 })
      onTestFinished(async () => {
        await client.close()
        await set.remove()
      })
      const store = mongoAdapter(client.db('delivery'), { events: true })
      await store.migrate()
      const [only] = set.members
      await expectToSurviveOutage({ store, kill: () => only!.kill(), restart: () => only!.restart() })
    })
  },
)
