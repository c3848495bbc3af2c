import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter, type PostgresQuery } from '@svc/db/postgres'
import { describeOwnDatabase, migratedSchema, poolOf, quoted, rowsReadBy } from './schemas.js'

const ROWS = 60_000
const SCOPES = 600
/** The last scopes of pages, in any case the first and the last of all, and one that has only counters or only rows. */
const DIFFERENT = ['scope 1000', 'scope 1250', 'scope 1251', 'scope 1599', 'scope without rows']

const fill = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, size, created_at, updated_at, writable_until)
  SELECT id, id, 'scope ' || 1000 + g % ${SCOPES}, 'bucket', 'key ' || g, 'active', 1, '2029-01-01', '2029-01-01', '2029-01-01'
  FROM (SELECT g, gen_random_uuid() AS id FROM generate_series(0, ${ROWS - 1}) g) made;
  INSERT INTO ${schema}.scope_usage (scope, bytes, files) SELECT scope, count(*), count(*) FROM ${schema}.objects GROUP BY scope;
  UPDATE ${schema}.scope_usage SET bytes = 0 WHERE scope IN ('scope 1000', 'scope 1251', 'scope 1599');
  DELETE FROM ${schema}.scope_usage WHERE scope = 'scope 1250';
  INSERT INTO ${schema}.scope_usage (scope, bytes) VALUES ('scope without rows', 1)`

describeOwnDatabase('checkUsage and repairUsage of all scopes', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  let session: pg.PoolClient
  beforeAll(async () => {
    await pool.query(fill(quoted(schema)))
    await pool.query(`VACUUM ANALYZE ${quoted(schema)}.objects, ${quoted(schema)}.scope_usage`)
    session = await pool.connect()
  })
  afterAll(() => session.release())

  /** Counts the rows that each statement of a call reads. */
  function counted() {
    const reads: number[] = []
    const handle = {
      connect: () => Promise.reject(new Error('not used')),
      async query(query: PostgresQuery) {
        let result: pg.QueryArrayResult | undefined
        reads.push(
          await rowsReadBy(session, schema, async () => {
            result = await session.query(query as pg.QueryArrayConfig)
          }),
        )
        return result!
      },
    }
    return { reads, store: postgresAdapter(handle, { schema }) }
  }
  const scopesOf = (differences: readonly { readonly scope: string }[]) =>
    differences.map(({ scope }) => scope)

  it('read a part of a large table in each statement', async () => {
    const { reads, store } = counted()
    expect(scopesOf(await store.checkUsage())).toEqual(DIFFERENT)
    expect(Math.max(...reads)).toBeLessThan(ROWS / 2)
    expect(scopesOf(await store.repairUsage())).toEqual(DIFFERENT)
    expect(Math.max(...reads)).toBeLessThan(ROWS / 2)
    expect(await store.checkUsage()).toEqual([])
  })
})
