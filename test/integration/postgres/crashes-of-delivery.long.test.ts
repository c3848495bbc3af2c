import { it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { expectToSurviveOutage } from '../races/delivery-outage.js'
import { describePrivatePostgres, poolOf } from './schemas.js'

describePrivatePostgres('deliverEvents on a server that is killed and restarted', (programs) => {
  it('goes on where it was', async () => {
    const server = await startPrivateCluster(programs)
    const { cluster } = server
    const pool = poolOf(cluster.url)
    onTestFinished(async () => {
      await pool.end()
      await server.remove()
    })
    const store = postgresAdapter(pool, { events: true })
    await store.migrate()
    await expectToSurviveOutage({
      store,
      kill: () => cluster.kill(),
      restart: () => cluster.restart(),
    })
  })
})
