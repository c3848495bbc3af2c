import { postgresAdapter } from '../../adapters/postgres/index.js'
import { WrongCall } from '../wrong-call.js'
import { byOptions } from './by-options.js'
import type { DatabaseKind } from './database-kind.js'
import { loadDriver } from './load-driver.js'

export const POSTGRES: DatabaseKind = {
  name: 'PostgreSQL',
  protocols: ['postgres:', 'postgresql:'],
  variable: 'DATABASE_URL',
  placeOption: 'schema',

  async open({ url, place, connectTimeoutMs }) {
    if (!URL.canParse(url)) throw new WrongCall('The URL of the database has a host or port that is none.')
    const { default: pg } = await loadDriver('pg', () => import('pg'))
    const pool = new pg.Pool({
      connectionString: url,
      max: 1,
      connectionTimeoutMillis: connectTimeoutMs,
      application_name: 'svc-db',
    })
    // Without a listener the loss of an idle connection would end the process; the next call tells of it.
    pool.on('error', () => {})
    return {
      // What a pooler in between can't keep must not matter to a command that runs each statement a few times.
      store: byOptions('schema', () =>
        postgresAdapter(pool, { schema: place ?? undefined, namedStatements: false }),
      ),
      close: () => pool.end(),
    }
  },
}
