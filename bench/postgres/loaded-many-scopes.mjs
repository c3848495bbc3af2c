import { bucket } from '../servers/scopes.mjs'
import { SIZE } from '../servers/store-calls.mjs'

export const ROWS_PER_SCOPE = 100

/** Returns the scope of the row with this number. Rows of one scope are far apart in the table. */
export function scopeOf(number, rows) {
  return `user:${number % (rows / ROWS_PER_SCOPE)}`
}

export function keyOf(number) {
  return `uploads/${number}`
}

/**
 * Fills the tables with active rows. The indexes are built afterwards, because inserting into those of ten million rows
 * takes several times as long.
 */
export async function loadManyScopes(pool, schema, rows) {
  const scopes = rows / ROWS_PER_SCOPE
  const { rows: indexes } = await pool.query(
    `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
     FROM pg_index i WHERE i.indrelid = $1::regclass AND NOT i.indisprimary`,
    [`${schema}.objects`],
  )
  for (const { name } of indexes) await pool.query(`DROP INDEX ${name}`)
  await pool.query(`
    INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type, size, e_tag,
      storage_key, created_at, updated_at, confirmed_at, writable_until)
    SELECT id, id, 'user:' || g % ${scopes}, '${bucket}', 'uploads/' || g, 'active', 'common', 'holiday picture.jpg',
      'image/jpeg', ${SIZE}, md5(g::text), 'uploads/' || g, at, at, at, at
    FROM (
      SELECT g, timestamptz '2025-01-01' + g * interval '1 second' AS at,
        (lpad(to_hex(1735689600000 + g::bigint * 1000), 12, '0') || '7000' || '8000' || lpad(to_hex(g), 12, '0'))::uuid AS id
      FROM generate_series(0, ${rows - 1}) g
    ) made;
    INSERT INTO ${schema}.scope_usage (scope, bytes, files)
    SELECT 'user:' || g, ${ROWS_PER_SCOPE * SIZE}, ${ROWS_PER_SCOPE} FROM generate_series(0, ${scopes - 1}) g`)
  for (const { definition } of indexes) await pool.query(definition)
  await pool.query(`VACUUM (ANALYZE) ${schema}.objects, ${schema}.scope_usage`)
  await pool.query('CHECKPOINT')
}
