import { PGlite } from '@electric-sql/pglite'
import { storeConformance, type TestRunner } from '@svc/db/conformance'
import { postgresAdapter } from '@svc/db/postgres'
import postgres from 'postgres'
import { afterAll, describe } from 'vitest'
import { describePostgres, poolOf, storesInEmptySchemas } from './schemas.js'

interface Extent {
  /** Registers the groups of the suite that run. */
  readonly test: TestRunner
  readonly numRuns: number
}

export function conformanceOnPostgres(extent: Extent): void {
  describePostgres('Postgres', (url) => {
    const pool = poolOf(url)
    const { drop, ...stores } = storesInEmptySchemas(pool)
    afterAll(async () => {
      await drop()
      await pool.end()
    })
    storeConformance({ name: 'postgresAdapter on a server', ...stores, driver: true, delays: 5, ...extent })
  })
}

export function conformanceOnPostgresJs(extent: Extent): void {
  describePostgres('Postgres through postgres.js', (url) => {
    const pool = poolOf(url)
    const sql = postgres(url, { max: 8 })
    const { drop, ...stores } = storesInEmptySchemas(pool, sql)
    afterAll(async () => {
      await drop()
      await Promise.all([pool.end(), sql.end()])
    })
    storeConformance({
      name: 'postgresAdapter over postgres.js',
      ...stores,
      driver: true,
      delays: 5,
      ...extent,
    })
  })
}

export function conformanceOnPglite(extent: Extent): void {
  describe('PGlite', () => {
    const database = new PGlite()
    afterAll(() => database.close())
    const migrated = new Set<string>()

    storeConformance({
      name: 'postgresAdapter on PGlite in memory',
      async createStore({ now, events }) {
        const schema = events ? 'with_events' : 'without_events'
        const store = postgresAdapter(database, { schema, now, events })
        if (!migrated.has(schema)) await store.migrate()
        migrated.add(schema)
        for (const table of ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections', 'events']) {
          await database.exec(`DELETE FROM ${schema}.${table}`)
        }
        return store
      },
      ...extent,
    })
  })
}
