import { createAttemptId } from '@svc/db'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { everyCall, type NamedCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './setup.js'

const SCOPE = 'scope'
const TABLES = ['objects', 'scope_usage', 'leftovers']
/** A prepared statement gets one plan for all calls at its sixth execution, or never. */
const EXECUTIONS = 8
const MOST_ROWS = 60
const now = () => new Date('2030-01-01T00:00:00.000Z')

const GROW = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, declared_size, size, expires_at,
    created_at, updated_at, confirmed_at, writable_until, storage_key)
  SELECT id, id, 'other ' || g % 100, 'bucket', 'other ' || g, status, 'photos', 1,
    CASE status WHEN 'active' THEN 1 END, CASE status WHEN 'pending' THEN timestamptz '2031-01-01' END,
    '2029-01-01', '2029-01-01', '2029-01-01', '2029-01-01', 'bytes ' || g
  FROM (
    SELECT g, gen_random_uuid() AS id, CASE WHEN g % 5 = 0 THEN 'pending' ELSE 'active' END AS status
    FROM generate_series(1, 20000) g
  ) made;
  INSERT INTO ${schema}.scope_usage (scope) SELECT 'other ' || g FROM generate_series(100, 20000) g`

/** Settings of tables: so nothing but this test has statistics made, which would have Postgres plan anew. */
const withoutAutovacuum = (schema: string) =>
  TABLES.map((table) => `ALTER TABLE ${schema}.${table} SET (autovacuum_enabled = off)`).join(';')

describePostgres(
  'plans that were made while the tables were small, kept by a role that never scans',
  (url) => {
    let schema: string
    // As docs/postgres.md has it for the role.
    const pool = poolOf(url, { max: 1, options: '-c enable_seqscan=off' })
    beforeEach(async () => {
      schema = freshSchema()
      await postgresAdapter(pool, { schema }).migrate()
      await pool.query(withoutAutovacuum(quoted(schema)))
    })
    afterEach(() => dropSchema(pool, schema))
    afterAll(() => pool.end())

    for (const rows of [0, 20, 300]) {
      for (const analyzed of [true, false]) {
        it(`${rows} rows, ${analyzed ? 'analyzed' : 'never analyzed'}`, async () => {
          const store = postgresAdapter(pool, { schema, now })
          for (let row = 0; row < rows; row++) await smallObject(row)
          if (analyzed)
            for (const table of TABLES) await pool.query(`VACUUM ANALYZE ${quoted(schema)}.${table}`)

          // History is dropped by a job, to which a longer look makes no difference.
          const calls = (time: number) => everyCall(`${SCOPE} ${time}`, now).filter(isOfRequests)
          for (let time = 0; time < EXECUTIONS; time++) {
            for (const { prepare, call } of calls(time)) {
              await prepare?.(store)
              await call(store)
            }
          }
          await pool.query(GROW(quoted(schema)))
          for (const { name, prepare, call } of calls(EXECUTIONS)) {
            await prepare?.(store)
            expect(await rowsReadBy(() => call(store)), name).toBeLessThanOrEqual(MOST_ROWS)
          }
        })
      }
    }

    const isOfRequests = ({ name }: NamedCall) => name !== 'purgeDeleted'

    async function smallObject(row: number): Promise<void> {
      const store = postgresAdapter(pool, { schema, now })
      const at = { bucket: 'bucket', key: `small ${row}` }
      const id = createAttemptId()
      await store.reserve({
        ...at,
        id,
        scope: `small ${row}`,
        declaredSize: 1,
        expiresAt: new Date('2031-01-01'),
        route: 'photos',
      })
      await store.confirm({ ...at, id, size: 1 })
    }

    /** By scans and by indexes. */
    async function rowsReadBy(call: () => Promise<unknown>): Promise<number> {
      await pool.query('BEGIN')
      const before = await rowsRead()
      await call()
      const after = await rowsRead()
      await pool.query('COMMIT')
      return after - before
    }

    async function rowsRead(): Promise<number> {
      const { rows } = await pool.query<{ read: number }>(
        `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read
       FROM pg_stat_xact_user_tables WHERE schemaname = $1`,
        [schema],
      )
      return rows[0]!.read
    }
  },
)
