import type { QueryConfig } from 'pg'
import { beforeAll, expect, it, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describeOwnDatabase, migratedSchema, poolOf, quoted } from './schemas.js'

const SCOPE = 'scope'
const CONFIRMED = 20_000

/** As reserve and confirm leave the table: each row has an entry as pending and one as active. */
const FILL = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, declared_size, expires_at, created_at,
    updated_at, writable_until)
  SELECT id, id, '${SCOPE}', 'bucket', 'key ' || g, 'pending', NULL, 1, '2031-01-01', '2029-01-01', '2029-01-01', '2031-01-01'
  FROM (
    SELECT g, (lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000')::uuid AS id
    FROM generate_series(1, ${CONFIRMED}) g
  ) made`
const CONFIRM = (schema: string) => `
  UPDATE ${schema}.objects SET status = 'active', size = 1, declared_size = NULL, expires_at = NULL, confirmed_at = '2029-01-01'`

describeOwnDatabase('dead index entries of confirmed uploads, before a vacuum', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  beforeAll(async () => {
    await pool.query(`ALTER TABLE ${quoted(schema)}.objects SET (autovacuum_enabled = off)`)
    await pool.query(FILL(quoted(schema)))
    await pool.query(CONFIRM(quoted(schema)))
    // With a pending upload, whose row a list looks for among the dead entries.
    await pool.query(`INSERT INTO ${quoted(schema)}.scope_usage (scope, pending_rows) VALUES ($1, 1)`, [
      SCOPE,
    ])
    await pool.query(`ANALYZE ${quoted(schema)}.objects`)
  })

  it('cost a list only those of its own page', async () => {
    const active = await pagesRead('active')
    // The page of active rows, and the dead entries down to its last row, which is not read again.
    expect(await pagesRead(undefined)).toBeLessThanOrEqual(active * 2.5)
  })

  /** Returns how many pages of tables and indexes Postgres reads for a list of 100. */
  async function pagesRead(status: 'active' | undefined): Promise<number> {
    const query = vi.spyOn(pool, 'query')
    // Of an empty scope, because a list of the other one would mark the entries that it finds dead.
    await postgresAdapter(pool, { schema }).listByScope({ scope: 'empty', limit: 100, status })
    const { text, values } = query.mock.lastCall![0] as unknown as QueryConfig<string[]>
    query.mockRestore()
    const explained = await pool.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      [SCOPE, ...values!.slice(1)],
    )
    const { Plan: plan } = explained.rows[0]!['QUERY PLAN'][0]
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
  }
})
