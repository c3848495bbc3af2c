import type pg from 'pg'
import { quoted } from './schemas.js'

/** Returns the keys whose live rows belong to different scopes. There must be none. */
export async function keysOfTwoScopes(pool: pg.Pool, schema: string): Promise<unknown[]> {
  const { rows } = await pool.query<{ key: string }>(
    `SELECT key FROM ${quoted(schema)}.objects WHERE status <> 'deleted'
       GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`,
  )
  return rows
}

/** Returns the number of deadlocks in the database since its creation or the last crash. */
export async function numberOfDeadlocks(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ deadlocks: string }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  )
  return Number(rows[0]!.deadlocks)
}
