import { createAttemptId } from '@svc/db'
import type pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { eventCalls } from './event-calls.js'
import { everyCall } from './every-call.js'
import { describeOwnDatabase, dropSchema, freshSchema, poolOf, quoted, rowsReadBy } from './schemas.js'

const TABLES = ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections', 'events']
/** Postgres decides at the sixth execution of a prepared statement whether to keep one plan for all further ones. */
const EXECUTIONS = 8
const MAX_ROWS = 60
const now = () => new Date('2030-01-01T00:00:00.000Z')
const scopeOf = (execution: number) => `scope ${execution}`
const allCalls = (scope: string) => [...everyCall(scope, now), ...eventCalls(scope, now)]

/**
 * Adds many rows of other scopes. A scope that grows from few rows to thousands without an ANALYZE is not covered: a
 * listing of one route may then read all its rows, because the planner expects a single one.
 */
const GROW = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, declared_size, size, expires_at,
    created_at, updated_at, confirmed_at, deleted_at, writable_until, storage_key)
  SELECT id, id, 'other ' || g % 100, 'bucket', 'other ' || g, status, 'photos', 1,
    CASE status WHEN 'pending' THEN NULL ELSE 1 END, CASE status WHEN 'pending' THEN timestamptz '2029-06-01' END,
    '2029-01-01', '2029-01-01', CASE status WHEN 'pending' THEN NULL ELSE timestamptz '2029-01-01' END, CASE status WHEN 'deleted' THEN timestamptz '2029-01-01' END, '2029-01-01',
    'bytes ' || g
  FROM (
    SELECT g, gen_random_uuid() AS id, CASE g % 5 WHEN 0 THEN 'pending' WHEN 1 THEN 'deleted' ELSE 'active' END AS status
    FROM generate_series(1, 20000) g
  ) made;
  UPDATE ${schema}.objects SET writable_until = writable_until + interval '1 microsecond'
  WHERE status = 'active' AND scope LIKE 'other %';
  INSERT INTO ${schema}.terms (attempt_id, id, scope, temporary_until)
  SELECT attempt_id, id, scope, '2031-01-01' FROM ${schema}.objects WHERE status = 'active' AND scope LIKE 'other %';
  INSERT INTO ${schema}.rejections (attempt_id, scope, bucket, key, rejected_at)
  SELECT gen_random_uuid(), 'other ' || g % 100, 'bucket', 'other ' || g, '2030-06-01' FROM generate_series(1, 20000) g;
  INSERT INTO ${schema}.leftovers (attempt_id, scope, bucket, key, storage_key, since, writable_until)
  SELECT gen_random_uuid(), CASE WHEN g % 3 > 0 THEN 'other ' || g % 100 END, 'bucket', 'other ' || g, 'bytes ' || g,
    '2029-01-01', '2029-01-01'
  FROM generate_series(1, 20000) g;
  INSERT INTO ${schema}.scope_usage (scope) SELECT 'other ' || g FROM generate_series(100, 20000) g;
  INSERT INTO ${schema}.events (object_digest, object_number, type, is_first, created_at, due_at, object)
  SELECT md5((g % 10000)::text)::uuid, g % 10000, 'deleted', g <= 10000, '2029-01-01', '2029-01-01', object
  FROM generate_series(1, 20000) g, (SELECT object FROM ${schema}.events LIMIT 1) e`

/** Autovacuum would create statistics, after which Postgres plans anew. */
const DISABLE_AUTOVACUUM = (schema: string) =>
  TABLES.map((table) => `ALTER TABLE ${schema}.${table} SET (autovacuum_enabled = off)`).join(';')

async function analyze(pool: pg.Pool, schema: string): Promise<void> {
  for (const table of TABLES) await pool.query(`VACUUM ANALYZE ${quoted(schema)}.${table}`)
}

const STATISTICS: Record<string, (pool: pg.Pool, schema: string) => Promise<void>> = {
  analyzed: analyze,
  'never analyzed': async () => {},
  async 'with fresh indexes'(pool, schema) {
    await analyze(pool, schema)
    for (const table of TABLES) await pool.query(`REINDEX TABLE ${quoted(schema)}.${table}`)
  },
}

describeOwnDatabase(
  'plans of small tables, kept by a role with enable_seqscan = off while they grow',
  (url) => {
    let schema: string
    // As docs/postgres.md recommends for the role.
    const pool = poolOf(url, { max: 1, options: '-c enable_seqscan=off' })
    beforeEach(async () => {
      schema = freshSchema()
      await postgresAdapter(pool, { schema, events: true }).migrate()
      await pool.query(DISABLE_AUTOVACUUM(quoted(schema)))
    })
    afterEach(() => dropSchema(pool, schema))
    afterAll(() => pool.end())

    for (const rows of [0, 20, 300]) {
      for (const [statistics, prepareStatistics] of Object.entries(STATISTICS)) {
        it(`read few rows: ${rows} rows, ${statistics}`, async () => {
          const store = postgresAdapter(pool, { schema, now })
          await Promise.all(Array.from({ length: rows }, (_, row) => createSmallObject(row)))
          await prepareStatistics(pool, schema)

          for (let execution = 0; execution < EXECUTIONS; execution++) {
            for (const { prepare, call } of allCalls(scopeOf(execution))) {
              await prepare?.(store)
              await call(store)
            }
          }
          await pool.query(GROW(quoted(schema)))
          for (const { name, prepare, call } of allCalls(scopeOf(EXECUTIONS))) {
            await prepare?.(store)
            expect(await rowsReadBy(pool, schema, () => call(store)), name).toBeLessThanOrEqual(MAX_ROWS)
          }
        })
      }
    }

    async function createSmallObject(row: number): Promise<void> {
      const store = postgresAdapter(pool, { schema, now })
      const reference = { bucket: 'bucket', key: `small ${row}` }
      const id = createAttemptId()
      const expiresAt = new Date('2031-01-01')
      await store.reserve({
        ...reference,
        id,
        scope: `small ${row}`,
        declaredSize: 1,
        expiresAt,
        route: 'photos',
      })
      await store.confirm({ ...reference, id, size: 1 })
    }
  },
)
