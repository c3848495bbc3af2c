import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { everyCall, writesAtOnce } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './setup.js'

const HUGE = 'huge scope'
const HUGE_ROWS = 60_000
const OTHER_SCOPES = 300
const NOW = new Date('2030-01-01T00:00:00.000Z')
const now = () => NOW
/** Of each page of 10 the calls may look at one more row, of two statuses; writes look at the rows of a key a few times. */
const MOST_ROWS = 60

const TABLES = ['objects', 'scope_usage', 'leftovers']

/** Rows of a big scope and of many small ones, in an order in which other scopes' are the newest; a few of every kind. */
const FILL = (schema: string) => `
  CREATE TEMP TABLE made AS
  SELECT g, lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000' AS id,
    CASE WHEN g <= ${HUGE_ROWS} THEN '${HUGE}' ELSE 'scope ' || g % ${OTHER_SCOPES} END AS scope,
    CASE WHEN g % 50 = 0 THEN 'pending' WHEN g % 10 = 1 THEN 'deleted' ELSE 'active' END AS status
  FROM generate_series(1, ${HUGE_ROWS * 2}) g;
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, size, declared_size, expires_at,
    created_at, updated_at, confirmed_at, deleted_at, writable_until, storage_key)
  SELECT id::uuid, id::uuid, scope, 'bucket', 'key ' || g, status, CASE WHEN g % 1000 < 2 THEN 'photos' ELSE 'files' END,
    CASE WHEN status <> 'pending' THEN 1 END, CASE WHEN status = 'pending' THEN 1 END,
    CASE WHEN status = 'pending' THEN timestamptz '2029-12-31' - g * interval '1 minute' END,
    '2029-01-01', '2029-01-01', CASE WHEN status <> 'pending' THEN timestamptz '2029-01-01' END,
    CASE WHEN status = 'deleted' THEN timestamptz '2029-06-01' + g * interval '1 minute' END, '2029-01-01', 'bytes ' || g
  FROM made;
  INSERT INTO ${schema}.scope_usage (scope, bytes, files, reserved_bytes, reserved_files, pending_rows, deleted_rows)
  SELECT scope, count(*) FILTER (WHERE status = 'active'), count(*) FILTER (WHERE status = 'active'),
    count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'pending'),
    count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'deleted')
  FROM made GROUP BY scope;
  INSERT INTO ${schema}.leftovers (attempt_id, bucket, key, storage_key, since, writable_until)
  SELECT id::uuid, 'bucket', 'gone ' || g, 'bytes', timestamptz '2029-01-01' + g * interval '1 second', '2029-01-01'
  FROM made WHERE g % 10 = 0;
  DROP TABLE made;
  ANALYZE ${schema}.objects; ANALYZE ${schema}.scope_usage; ANALYZE ${schema}.leftovers`

describePostgres('no call scans', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  let fresh: string

  beforeAll(async () => {
    await postgresAdapter(pool, { schema }).migrate()
    await pool.query(FILL(quoted(schema)))
    fresh = freshSchema()
    await postgresAdapter(pool, { schema: fresh }).migrate()
  })
  afterAll(async () => {
    await dropSchema(pool, schema)
    await dropSchema(pool, fresh)
    await pool.end()
  })

  it('the rows that were made by hand add up', async () => {
    expect(await postgresAdapter(pool, { schema }).checkUsage()).toEqual([])
  })

  // The planner makes a plan for the values of each call, or one for all calls of a prepared statement.
  for (const plans of ['force_custom_plan', 'force_generic_plan', 'auto']) {
    for (const scope of [HUGE, 'scope 7', 'a new scope']) {
      describe(`${plans}, ${scope}`, () => {
        for (const { name, prepare, call } of [...everyCall(scope, now), writesAtOnce(scope, now)]) {
          it(name, async () => {
            const { scans, fetched } = await tablesReadBy(plans, async (client) => {
              const store = postgresAdapter(client, { schema, now })
              await prepare?.(store)
              return () => call(store)
            })
            expect(scans).toEqual([])
            expect(fetched).toBeLessThanOrEqual(MOST_ROWS)
          })
        }
      })
    }
  }

  /** Tables that the call reads from end to end, and how many rows it gets by indexes, as Postgres counts them. */
  async function tablesReadBy(
    plans: string,
    prepared: (client: pg.ClientBase) => Promise<() => Promise<unknown>>,
  ): Promise<{ scans: string[]; fetched: number }> {
    const client = await pool.connect()
    try {
      await client.query(`SET plan_cache_mode = ${plans}`)
      const call = await prepared(client)
      await client.query('BEGIN')
      const before = await counters(client)
      await call().catch(() => {})
      const after = await counters(client)
      await client.query('ROLLBACK')
      const change = (column: 'scans' | 'fetched', table: string) =>
        after.get(table)![column] - before.get(table)![column]
      return {
        scans: TABLES.filter((table) => change('scans', table) > 0),
        fetched: TABLES.reduce((sum, table) => sum + change('fetched', table), 0),
      }
    } finally {
      // Its session has settings of this test.
      client.release(true)
    }
  }

  async function counters(client: pg.ClientBase): Promise<Map<string, { scans: number; fetched: number }>> {
    const { rows } = await client.query<{ relname: string; scans: string; fetched: string }>(
      `SELECT relname, coalesce(seq_scan, 0) AS scans, coalesce(idx_tup_fetch, 0) AS fetched
       FROM pg_stat_xact_user_tables WHERE schemaname = $1`,
      [schema],
    )
    return new Map(
      rows.map((row) => [row.relname, { scans: Number(row.scans), fetched: Number(row.fetched) }]),
    )
  }
})
