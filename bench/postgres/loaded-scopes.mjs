import {
  bucket,
  expectRightSums,
  large,
  OTHER_SCOPES,
  RARE_STATUS,
  rareRoute,
  small,
} from '../servers/scopes.mjs'

/**
 * Fills the tables of the adapter with a large scope, a small one and a thousand others, interleaved in order of time.
 * The indexes exist meanwhile, so they grow to a realistic size.
 */
export async function loadScopes(pool, store, largeRows) {
  const gap = Math.floor(largeRows / rareRoute.rows)
  const smallGap = Math.floor(largeRows / small.rows)
  await pool.query(`
    CREATE TEMP TABLE made AS
    SELECT (${uuidAt('g')})::uuid AS id, s.scope, 'uploads/' || replace(gen_random_uuid()::text, '-', '') AS key, s.route,
      CASE g / 7 % ${RARE_STATUS} WHEN 1 THEN 'pending' WHEN 2 THEN 'deleted' ELSE 'active' END AS status,
      1000 + g % 1000 AS bytes,
      timestamptz '2025-01-01' + g * interval '1 second' AS at
    FROM generate_series(1, ${largeRows}) g
    CROSS JOIN LATERAL (
      SELECT '${large}' AS scope, CASE WHEN g % ${gap} = 0 THEN '${rareRoute.name}' ELSE 'common' END AS route
      UNION ALL SELECT '${small.scope}', CASE WHEN g % (5 * ${smallGap}) = 0 THEN '${rareRoute.name}' ELSE 'common' END
        WHERE g % ${smallGap} = 0
      UNION ALL SELECT 'user:' || (g / 5 % ${OTHER_SCOPES}), 'common' WHERE g % 5 = 0
    ) s;
    INSERT INTO svc_db.objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type, size,
      declared_size, e_tag, storage_key, expires_at, created_at, updated_at, confirmed_at, deleted_at, writable_until)
    SELECT id, id, scope, '${bucket}', key, status, route, 'holiday picture.jpg', 'image/jpeg',
      CASE WHEN status <> 'pending' THEN bytes END, CASE WHEN status = 'pending' THEN bytes END,
      CASE WHEN status <> 'pending' THEN md5(key) END, key,
      CASE WHEN status = 'pending' THEN at + interval '100 years' END, at, at,
      CASE WHEN status <> 'pending' THEN at END, CASE WHEN status = 'deleted' THEN at + interval '1 day' END,
      at + interval '100 years'
    FROM made ORDER BY at;
    INSERT INTO svc_db.scope_usage (scope, bytes, files, reserved_bytes, reserved_files, pending_rows, deleted_rows)
    SELECT scope, coalesce(sum(bytes) FILTER (WHERE status = 'active'), 0), count(*) FILTER (WHERE status = 'active'),
      coalesce(sum(bytes) FILTER (WHERE status = 'pending'), 0), count(*) FILTER (WHERE status = 'pending'),
      count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'deleted')
    FROM made GROUP BY scope;
    DROP TABLE made`)
  await pool.query('VACUUM (ANALYZE) svc_db.objects, svc_db.scope_usage')
  await pool.query('CHECKPOINT')
  await expectRightSums(store)
}

/** Returns SQL for a UUIDv7 of the g-th second of 2025. */
function uuidAt(g) {
  const time = `lpad(to_hex(1735689600000 + ${g}::bigint * 1000), 12, '0')`
  const random = `substr(replace(gen_random_uuid()::text, '-', ''), 1, 15)`
  return `${time} || '7' || substr(${random}, 1, 3) || '8' || ${random}`
}

/** Returns the size and entries of each table and index that is not empty. A partial index has fewer entries than its table has rows. */
export async function measureSizes(pool, schema = 'svc_db') {
  const { rows } = await pool.query(`
    SELECT c.relname AS name, pg_relation_size(c.oid)::float8 AS bytes, c.reltuples::float8 AS entries
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE coalesce(i.indrelid, c.oid) IN ('${schema}.objects'::regclass, '${schema}.scope_usage'::regclass)
      AND c.reltuples > 0
    ORDER BY coalesce(i.indrelid, c.oid)::regclass::text, c.relkind DESC, c.relname`)
  return rows.map(({ name, bytes, entries }) => ({
    name,
    entries: Math.round(entries),
    megabytes: bytes / 1e6,
    bytesPerEntry: bytes / entries,
  }))
}
