import { afterAll, beforeAll, expect } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describeErasureCrashes } from '../../unit/server/describe-erasure-crashes.js'
import { expectZeros, rowsOfErased, type RawRow } from '../../unit/server/raw-remainder.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

describePostgres('a server with postgresAdapter', (url) => {
  const pool = poolOf(url)
  const schema = freshSchema()
  beforeAll(() => postgresAdapter(pool, { schema, events: true }).migrate())
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  async function tables(): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>(
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1',
      [schema],
    )
    return rows.map(({ name }) => name)
  }

  describeErasureCrashes({
    async createStore(now) {
      const names = (await tables()).filter((name) => name !== 'schema_version')
      await pool.query(names.map((name) => `DELETE FROM ${quoted(schema)}.${quoted(name)}`).join(';'))
      return postgresAdapter(pool, { schema, now })
    },
    async inspect() {
      const database: Record<string, RawRow[]> = {}
      for (const name of await tables()) {
        const { rows } = await pool.query<{ row: RawRow }>(
          `SELECT to_jsonb(t) AS row FROM ${quoted(schema)}.${quoted(name)} t`,
        )
        database[name] = rows.map(({ row }) => row)
      }
      // `expectErased` has checked each leftover.
      const { scope_usage, leftovers, events, ...rest } = rowsOfErased(database)
      expect(rest).toEqual({})
      for (const sums of scope_usage ?? []) expectZeros(sums)
      expect(leftovers?.length).toBeGreaterThan(0)
      expect(events?.length).toBeGreaterThan(0)
    },
    step: 1,
  })
})
