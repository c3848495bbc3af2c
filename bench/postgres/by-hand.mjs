import { createAttemptId } from '@svc/db'
import { bucket } from '../servers/scopes.mjs'

export const SCHEMA = 'bench_by_hand'

/** Creates the table that most applications use. */
export async function createTableByHand(pool) {
  await pool.query(`
    CREATE SCHEMA ${SCHEMA};
    CREATE TABLE ${SCHEMA}.files (
      id uuid PRIMARY KEY, scope text NOT NULL, bucket text NOT NULL, key text NOT NULL, status text NOT NULL,
      filename text, content_type text, size bigint NOT NULL, created_at timestamptz NOT NULL,
      UNIQUE (bucket, key)
    );
    CREATE INDEX ON ${SCHEMA}.files (scope, status)`)
}

const FIND = {
  name: 'bench_hand_find',
  text: `SELECT * FROM ${SCHEMA}.files WHERE bucket = $1 AND key = $2`,
}
const SUM = {
  name: 'bench_hand_sum',
  text: `SELECT coalesce(sum(size), 0) AS bytes FROM ${SCHEMA}.files WHERE scope = $1`,
}
const UPSERT = {
  name: 'bench_hand_upsert',
  text: `INSERT INTO ${SCHEMA}.files (id, scope, bucket, key, status, filename, content_type, size, created_at)
         VALUES ($1, $2, $3, $4, 'pending', 'holiday picture.jpg', 'image/jpeg', $5, now())
         ON CONFLICT (bucket, key) DO UPDATE SET id = $1, size = $5, status = 'pending' RETURNING *`,
}

/**
 * Runs the usual sequence in a transaction: find the key, sum up the scope, upsert. Returns `false` if the quota is
 * full.
 */
export async function reserveByHand(pool, { scope, size, maxBytes }) {
  const id = createAttemptId()
  const key = `uploads/${id}`
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const found = await client.query({ ...FIND, values: [bucket, key] })
    const owner = found.rows[0]?.scope ?? scope
    const { rows } = await client.query({ ...SUM, values: [scope] })
    const fits = owner === scope && Number(rows[0].bytes) + size <= maxBytes
    if (fits) await client.query({ ...UPSERT, values: [id, scope, bucket, key, size] })
    await client.query(fits ? 'COMMIT' : 'ROLLBACK')
    return fits
  } finally {
    client.release()
  }
}

export async function bytesByHand(pool, scope) {
  const { rows } = await pool.query({ ...SUM, values: [scope] })
  return Number(rows[0].bytes)
}
