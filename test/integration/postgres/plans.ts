import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { everyCall, concurrentWrites, type NamedCall } from './every-call.js'
import { describeOwnDatabase, dropSchema, freshSchema, poolOf, quoted, rowsReadBy } from './schemas.js'

const HUGE = 'huge scope'
const SCOPES = [HUGE, 'scope 7', 'a new scope']
/** The planner makes a plan for the values of each call, or one plan for all calls of a prepared statement. */
const PLANS = ['force_custom_plan', 'force_generic_plan'] as const
/** The newest rows of the huge scope are of one route, and nearly all the others of another. */
const NEWEST_ROWS = 5000
const [NEWEST_ROUTE, LARGE_ROUTE, RARE_ROUTE] = ['imports', 'files', 'photos']
const OTHER_SCOPES = 300
const NOW = new Date('2030-01-01T00:00:00.000Z')
const now = () => NOW
/** A page of 10 reads up to 11 rows of each of two statuses. A write reads the few rows of its key several times. */
const MAX_ROWS = 60

const TABLES = ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections']

/** Fills one huge scope and many small ones. Each status occurs, and the newest rows belong to the small scopes. */
const fillText = (schema: string, hugeRows: number) => `
  CREATE TEMP TABLE made AS
  SELECT g, lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000' AS id,
    CASE WHEN g <= ${hugeRows} THEN '${HUGE}' ELSE 'scope ' || g % ${OTHER_SCOPES} END AS scope,
    CASE WHEN g % 50 = 0 THEN 'pending' WHEN g % 10 = 1 THEN 'deleted' ELSE 'active' END AS status
  FROM generate_series(1, ${hugeRows * 2}) g;
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, size, declared_size, expires_at,
    created_at, updated_at, confirmed_at, deleted_at, writable_until, storage_key)
  SELECT id::uuid, id::uuid, scope, 'bucket', 'key ' || g, status,
    CASE WHEN g BETWEEN ${hugeRows - NEWEST_ROWS} AND ${hugeRows} THEN '${NEWEST_ROUTE}'
      WHEN g % 1000 < 2 THEN '${RARE_ROUTE}' ELSE '${LARGE_ROUTE}' END,
    CASE WHEN status <> 'pending' THEN 1 END, CASE WHEN status = 'pending' THEN 1 END,
    CASE WHEN status = 'pending' THEN timestamptz '2029-12-31' - g * interval '1 minute' END,
    '2029-01-01', '2029-01-01', CASE WHEN status <> 'pending' THEN timestamptz '2029-01-01' END,
    CASE WHEN status = 'deleted' THEN timestamptz '2029-06-01' + g * interval '1 minute' END, '2029-01-01',
    -- As the server names bytes: after the key, or after the key and the attempt. Some are named otherwise.
    CASE WHEN g % 20 = 3 THEN 'bytes ' || g WHEN g % 3 = 0 THEN 'key ' || g ELSE 'key ' || g || '~' || id END
  FROM made;
  -- Some objects are temporary, and some attempts have arrived, as in any large table of terms.
  INSERT INTO ${schema}.terms (attempt_id, id, scope, temporary_until)
  SELECT id::uuid, id::uuid, scope, timestamptz '2029-06-01' + g * interval '1 minute'
  FROM made WHERE status = 'active' AND g % 4 = 0;
  INSERT INTO ${schema}.terms (attempt_id, id, scope, check_seconds, check_until)
  SELECT id::uuid, id::uuid, scope, 60, timestamptz '2029-06-01' + g * interval '1 minute'
  FROM made WHERE status = 'pending' AND g % 4 = 0;
  UPDATE ${schema}.objects o SET
    writable_until = o.writable_until + interval '1 microsecond',
    confirmed_at = coalesce(o.confirmed_at, '2029-01-01'), expires_at = NULL,
    size = coalesce(o.size, o.declared_size)
  FROM ${schema}.terms t WHERE t.attempt_id = o.attempt_id;
  INSERT INTO ${schema}.rejections (attempt_id, scope, bucket, key, rejected_at)
  SELECT gen_random_uuid(), scope, 'bucket', 'rejected ' || g, timestamptz '2030-06-01'
  FROM made WHERE g % 20 = 0;
  INSERT INTO ${schema}.scope_usage (scope, bytes, files, reserved_bytes, reserved_files, pending_rows, deleted_rows)
  SELECT scope, count(*) FILTER (WHERE status = 'active'), count(*) FILTER (WHERE status = 'active'),
    count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'pending'),
    count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'deleted')
  FROM made GROUP BY scope;
  INSERT INTO ${schema}.leftovers (attempt_id, scope, bucket, key, storage_key, since, writable_until, due_at)
  SELECT id::uuid, CASE WHEN g % 40 <> 0 THEN scope END, 'bucket', 'gone ' || g, CASE WHEN g % 20 <> 0 THEN 'bytes ' || g END,
    timestamptz '2029-01-01' + g * interval '1 second', '2029-01-01',
    CASE WHEN g % 30 = 0 THEN '-infinity' ELSE timestamptz '${NOW.toISOString()}' + (g - ${hugeRows}) * interval '1 second' END
  FROM made WHERE g % 10 = 0;
  DROP TABLE made`

/** Autovacuum would create statistics at any time. */
const DISABLE_AUTOVACUUM = (schema: string) =>
  TABLES.map((table) => `ALTER TABLE ${schema}.${table} SET (autovacuum_enabled = off)`).join(';')

/** Selects statements that build each index again, apart from those of primary keys. */
const REBUILD_INDEXES = `
  SELECT format('DROP INDEX %I.%I; %s', schemaname, indexname, indexdef) AS statement FROM pg_indexes
  WHERE schemaname = $1 AND indexname NOT LIKE '%\\_pkey'`

async function analyze(pool: pg.Pool, schema: string): Promise<void> {
  for (const table of TABLES) await pool.query(`ANALYZE ${quoted(schema)}.${table}`)
}

async function rebuildIndexes(pool: pg.Pool, schema: string): Promise<void> {
  const { rows } = await pool.query<{ statement: string }>(REBUILD_INDEXES, [schema])
  expect(rows.length).toBeGreaterThan(6)
  for (const { statement } of rows) await pool.query(statement)
}

interface Extent {
  /** Rows of the huge scope, half of all rows. */
  readonly hugeRows: number
  /** The states of statistics. */
  readonly statistics: readonly (keyof typeof REACH)[]
  /** The ways to plan, each with the scope whose calls are made. */
  readonly calls: readonly (readonly [plans: (typeof PLANS)[number], scope: string])[]
}

/** What leads to each state of statistics from the one before. */
const REACH = {
  'tables that were never analyzed': [],
  'fresh indexes on tables that were never analyzed': [rebuildIndexes],
  'analyzed tables': [analyze],
  // As an upgrade leaves them.
  'fresh indexes on analyzed tables': [analyze, rebuildIndexes],
} as const

/** Each statement in two states of statistics, with the plan that is likeliest to be wrong for its scope. */
export const EACH_SHAPE: Extent = {
  hugeRows: 60_000,
  statistics: ['tables that were never analyzed', 'fresh indexes on analyzed tables'],
  calls: [
    ['force_generic_plan', HUGE],
    ['force_custom_plan', 'a new scope'],
  ],
}

/** Every combination, with a million objects. */
export const EVERY_COMBINATION: Extent = {
  hugeRows: 500_000,
  statistics: Object.keys(REACH) as (keyof typeof REACH)[],
  calls: PLANS.flatMap((plans) => SCOPES.map((scope) => [plans, scope] as const)),
}

/**
 * Fills two scopes whose reservations have all expired, and whose history and leftovers are old. As far as the planner can
 * tell, every other row belongs to a scope.
 */
const fillTwoScopes = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, size, declared_size, expires_at,
    created_at, updated_at, deleted_at, writable_until, storage_key)
  SELECT id, id, 'other ' || g % 2, 'bucket', 'other ' || g, status, 'photos', 1, 1,
    CASE status WHEN 'pending' THEN timestamptz '2029-12-01' END, '2029-01-01', '2029-01-01',
    CASE status WHEN 'deleted' THEN timestamptz '2029-01-01' END, '2029-01-01', 'other ' || g
  FROM (
    SELECT g, gen_random_uuid() AS id, CASE g % 3 WHEN 0 THEN 'pending' WHEN 1 THEN 'deleted' ELSE 'active' END AS status
    FROM generate_series(1, 20000) g
  ) made;
  INSERT INTO ${schema}.scope_usage (scope) VALUES ('other 0'), ('other 1');
  INSERT INTO ${schema}.leftovers (attempt_id, scope, bucket, key, storage_key, since, writable_until)
  SELECT gen_random_uuid(), 'other ' || g % 2, 'bucket', 'gone ' || g, 'gone ' || g, '2029-01-01', '2029-01-01'
  FROM generate_series(1, 10000) g`

/** Listings of the routes that hold much of the huge scope. */
const listingsOfLargeRoutes = (scope: string): NamedCall[] =>
  [LARGE_ROUTE, NEWEST_ROUTE].flatMap((route) =>
    ([undefined, 'pending', 'active', 'deleted'] as const).map((status) => ({
      name: `listByScope ${status}, route ${route}`,
      call: (store) => store.listByScope({ scope, status, route, limit: 10 }),
    })),
  )

export function describePlans(extent: Extent): void {
  describeOwnDatabase('calls scan no table', (url) => callsScanNoTable(url, extent))
  describeOwnDatabase('calls of a new scope read few rows next to', callsReadFewRows)
}

function callsReadFewRows(url: string): void {
  const scope = 'a new scope'
  const schema = freshSchema()
  const pool = poolOf(url, { max: 1, options: '-c plan_cache_mode=force_generic_plan' })
  afterAll(() => pool.end())

  it('two large ones, all of whose reservations have expired', async () => {
    const store = postgresAdapter(pool, { schema, now })
    await store.migrate()
    await pool.query(DISABLE_AUTOVACUUM(quoted(schema)))
    await pool.query(fillTwoScopes(quoted(schema)))
    await analyze(pool, schema)
    const tooMany: Record<string, number> = {}
    for (const { name, prepare, call } of [...everyCall(scope, now), concurrentWrites(scope, now)]) {
      await prepare?.(store)
      const read = await rowsReadBy(pool, schema, () => call(store))
      if (read > MAX_ROWS) tooMany[name] = read
    }
    expect(tooMany).toEqual({})
  })
}

function callsScanNoTable(url: string, { hugeRows, statistics, calls }: Extent): void {
  const schema = freshSchema()
  const pool = poolOf(url)
  beforeAll(async () => {
    await postgresAdapter(pool, { schema }).migrate()
    await pool.query(DISABLE_AUTOVACUUM(quoted(schema)))
    await pool.query(fillText(quoted(schema), hugeRows))
  })
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  for (const state of statistics) {
    describe(`with ${state}`, () => {
      beforeAll(async () => {
        for (const reach of REACH[state]) await reach(pool, schema)
      })

      it('and rows that match their counters', async () => {
        expect(await postgresAdapter(pool, { schema }).checkUsage()).toEqual([])
      })

      for (const [plans, scope] of calls) {
        describe(`${plans}, ${scope}`, () => {
          let client: pg.PoolClient
          beforeAll(async () => {
            client = await pool.connect()
            await client.query(`SET plan_cache_mode = ${plans}`)
          })
          // The session has settings of this test.
          afterAll(() => client.release(true))

          const made = [
            ...everyCall(scope, now),
            concurrentWrites(scope, now),
            ...listingsOfLargeRoutes(scope),
          ]
          for (const { name, prepare, call } of made) {
            it(name, async () => {
              const store = postgresAdapter(client, { schema, now })
              await prepare?.(store)
              const { scans, fetched } = await tablesReadBy(client, () => call(store))
              expect(scans).toEqual([])
              expect(fetched).toBeLessThanOrEqual(MAX_ROWS)
            })
          }
        })
      }
    })
  }

  /** Returns the tables that the call scans, and the number of rows it fetches by index, as Postgres counts them. */
  async function tablesReadBy(
    client: pg.ClientBase,
    call: () => Promise<unknown>,
  ): Promise<{ scans: string[]; fetched: number }> {
    await client.query('BEGIN')
    try {
      const before = await counters(client)
      await call().catch(() => {})
      const after = await counters(client)
      const change = (column: 'scans' | 'fetched', table: string) =>
        after.get(table)![column] - before.get(table)![column]
      return {
        scans: TABLES.filter((table) => change('scans', table) > 0),
        fetched: TABLES.reduce((sum, table) => sum + change('fetched', table), 0),
      }
    } finally {
      await client.query('ROLLBACK')
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
}
