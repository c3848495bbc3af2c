import pg from 'pg'
import { postgresAdapter } from '../postgres/adapter.mjs'
import { startCluster } from '../postgres/cluster.mjs'

/** The adapter on a server of its own, reached directly or by way of what `wayTo` starts. */
export async function startPostgresBase(name, wayTo = async ({ port }) => ({ port, stop: async () => {} })) {
  const cluster = await startCluster()
  const { host, port } = cluster.connection
  const way = await wayTo({ host, port })
  const pool = new pg.Pool({ ...cluster.connection, port: way.port, max: 1, idleTimeoutMillis: 0 })
  // The server may end a connection that is just being closed.
  pool.on('error', () => {})
  const store = postgresAdapter(pool)
  await store.migrate()
  return {
    name,
    store,
    async stop() {
      await pool.end()
      await way.stop()
      await cluster.stop()
    },
  }
}
