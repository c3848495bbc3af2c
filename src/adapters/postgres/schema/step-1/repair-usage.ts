import { growth, WRITABLE } from './fragments.js'

/**
 * Recounts one scope. Every write changes its rows first and the usage row last, in one transaction. While this
 * function holds the usage row, it sees the rows of every write that has changed it, and later writes add to the
 * corrected sums.
 */
export const REPAIR_USAGE = `
CREATE FUNCTION {schema}.repair_usage_v1(p_scope text, OUT recorded {schema}.scope_usage, OUT actual {schema}.scope_usage)
LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
BEGIN${WRITABLE}
  INSERT INTO {schema}.scope_usage (scope) VALUES (p_scope) ON CONFLICT (scope) DO NOTHING;
  SELECT u.* INTO recorded FROM {schema}.scope_usage u WHERE u.scope = p_scope FOR UPDATE;
  WITH active AS (
    SELECT coalesce(sum(o.size), 0)::bigint AS bytes, count(*) AS files
    FROM {schema}.objects o WHERE o.scope = p_scope AND o.status = 'active'
  ), pending AS (
    SELECT coalesce(sum(${growth('o.declared_size', 'a.size')}), 0)::bigint AS bytes,
      count(*) FILTER (WHERE a.id IS NULL) AS files, count(*) AS rows
    FROM {schema}.objects o
    LEFT JOIN {schema}.objects a ON a.bucket = o.bucket AND a.key = o.key AND a.status = 'active'
    WHERE o.scope = p_scope AND o.status = 'pending'
  ), deleted AS (
    SELECT count(*) AS rows FROM {schema}.objects o WHERE o.scope = p_scope AND o.status = 'deleted'
  )
  UPDATE {schema}.scope_usage u SET
    bytes = a.bytes, files = a.files, reserved_bytes = p.bytes, reserved_files = p.files,
    pending_rows = p.rows, deleted_rows = d.rows
  FROM active a, pending p, deleted d WHERE u.scope = p_scope RETURNING u.* INTO actual;
END
$body$;
`
