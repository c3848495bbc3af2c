/** Bytes of each table and index and their entries; a partial index has fewer of these than its table has rows. */
export async function measureSizes(pool) {
  const { rows } = await pool.query(`
    SELECT c.relname AS name, pg_relation_size(c.oid)::float8 AS bytes, c.reltuples::float8 AS entries
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE coalesce(i.indrelid, c.oid) IN ('svc_db.objects'::regclass, 'svc_db.scope_usage'::regclass)
    ORDER BY coalesce(i.indrelid, c.oid)::regclass::text, c.relkind DESC, c.relname`)
  return rows.map(({ name, bytes, entries }) => ({
    name,
    entries: Math.round(entries),
    megabytes: bytes / 1e6,
    bytesPerEntry: bytes / entries,
  }))
}
