import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { startCluster } from '../postgres/cluster.mjs'

/** Starts the adapter on a private server, reached directly or through the proxy that `proxyTo` starts. */
export async function startPostgresBase(
  name,
  proxyTo = async ({ port }) => ({ port, stop: async () => {} }),
) {
  const cluster = await startCluster()
  const { host, port } = cluster.connection
  const proxy = await proxyTo({ host, port })
  const pool = new pg.Pool({ ...cluster.connection, port: proxy.port, max: 1, idleTimeoutMillis: 0 })
  // The server may end a connection while it is being closed.
  pool.on('error', () => {})
  const store = postgresAdapter(pool)
  await store.migrate()
  return {
    name,
    store,
    async stop() {
      await pool.end()
      await proxy.stop()
      await cluster.stop()
    },
  }
}
