import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describeOwnDatabase, migratedSchema, poolOf, quoted } from './schemas.js'

const SCOPE = 'scope'
const ROWS = 20_000
/** Postgres plans a statement this many times, before it compares the cost of a plan for all values. */
const PLANNED = 5

const FILL = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, size, e_tag, created_at, updated_at,
    confirmed_at, writable_until)
  SELECT id, id, '${SCOPE}', 'bucket', 'key ' || g, 'active', CASE WHEN g % 1000 = 0 THEN 'rare' ELSE 'common' END, 1, 'e',
    '2029-01-01', '2029-01-01', '2029-01-01', '2029-01-01'
  FROM (
    SELECT g, (lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000')::uuid AS id
    FROM generate_series(1, ${ROWS}) g
  ) made`

describeOwnDatabase('a connection keeps the plans of its lists', (url) => {
  describe('that it has planned before there were statistics', () => {
    const pool = poolOf(url, { max: 1 })
    const schema = migratedSchema(pool)

    it('after the first ANALYZE', async () => {
      const store = postgresAdapter(pool, { schema })
      await pool.query(`ALTER TABLE ${quoted(schema)}.objects SET (autovacuum_enabled = off)`)
      await pool.query(FILL(quoted(schema)))
      const list = async () => {
        for (const status of [undefined, 'active'] as const) {
          for (const route of [undefined, 'rare', 'common']) {
            await store.listByScope({ scope: SCOPE, status, route, limit: 10 })
          }
        }
      }
      for (let made = 0; made <= PLANNED; made++) await list()
      await pool.query(`ANALYZE ${quoted(schema)}.objects`)
      const before = await timesPlanned(pool)
      expect(Object.keys(before)).toHaveLength(4)
      await list()
      expect(await timesPlanned(pool)).toEqual(before)
    })
  })

  /** Returns how many times the connection has planned each list for the values of one call. */
  async function timesPlanned(pool: pg.Pool): Promise<Record<string, string>> {
    const { rows } = await pool.query<{ name: string; planned: string }>(
      `SELECT name, custom_plans AS planned FROM pg_prepared_statements WHERE name LIKE 'svc_db_list%'`,
    )
    return Object.fromEntries(rows.map(({ name, planned }) => [name, planned]))
  }
})
