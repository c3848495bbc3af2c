import { postgresAdapter } from '../../adapters/postgres/index.js'
import { UsageError } from '../exit.js'
import { loadDriver, withOption, type DatabaseKind } from './database-kind.js'

export const POSTGRES: DatabaseKind = {
  name: 'PostgreSQL',
  protocols: ['postgres:', 'postgresql:'],
  variable: 'DATABASE_URL',
  namespaceOption: 'schema',

  async open({ url, namespace, connectTimeoutMs, connections = 1, events }) {
    if (!URL.canParse(url)) throw new UsageError('The database URL has an invalid host or port.')
    const { default: pg } = await loadDriver('pg', () => import('pg'))
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: connectTimeoutMs,
      application_name: 'svc-db',
    })
    // Without a listener, losing an idle connection ends the process. The next query reports the loss.
    pool.on('error', () => {})
    return {
      // Prepared statements fail behind some connection poolers, and a short-lived command gains little by them.
      store: withOption('schema', () =>
        postgresAdapter(pool, { schema: namespace ?? undefined, namedStatements: false, events }),
      ),
      advice: async () => [],
      close: () => pool.end(),
    }
  },
}
