/**
 * Lists scopes by their rows, one index descent for each. Usage rows are never deleted, so walking those would pass every
 * scope that has become empty.
 *
 * The settings keep the plan of tables that were empty when it was made. Sorting a page is cheap, but with sorts
 * disabled its estimated cost would start a compilation.
 */
export const LIST_SCOPES = `
CREATE FUNCTION {schema}.list_scopes_v1(p_after text, p_limit int)
RETURNS TABLE (
  scope text, bytes bigint, files bigint, reserved_bytes bigint, reserved_files bigint, pending_rows bigint,
  deleted_rows bigint
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH RECURSIVE walk AS (
    (SELECT o.scope FROM {schema}.objects o WHERE o.scope > p_after ORDER BY o.scope LIMIT 1)
    UNION ALL
    SELECT (SELECT o.scope FROM {schema}.objects o WHERE o.scope > w.scope ORDER BY o.scope LIMIT 1)
    FROM walk w WHERE w.scope IS NOT NULL
  )
  SELECT w.scope, coalesce(u.bytes, 0), coalesce(u.files, 0), coalesce(u.reserved_bytes, 0),
    coalesce(u.reserved_files, 0), coalesce(u.pending_rows, 0), coalesce(u.deleted_rows, 0)
  FROM (SELECT w.scope FROM walk w WHERE w.scope IS NOT NULL LIMIT p_limit) w
  -- OFFSET 0 keeps this a lookup for each scope. A merge would walk the whole index.
  LEFT JOIN LATERAL (SELECT u.* FROM {schema}.scope_usage u WHERE u.scope = w.scope OFFSET 0) u ON true
  ORDER BY w.scope;
END
$body$;
`
