import { growth, lockOf, WRITABLE } from '../step-1/fragments.js'
import { ON_SAME_ATTEMPT } from './fragments.js'

/** Skips keys that another transaction has locked. A purge never waits for a key, so it needs no lock order. */
const lapsed = (condition: string) => `
    SELECT pg_catalog.array_agg(o.attempt_id) INTO attempts FROM (
      SELECT o.attempt_id, o.bucket, o.key FROM {schema}.objects o
      WHERE o.status = 'pending' AND o.expires_at <= p_before${condition}
      ORDER BY o.expires_at, o.id LIMIT p_limit
    ) o WHERE pg_try_advisory_xact_lock(${lockOf('o.bucket', 'o.key')});`

/** Implements `planPurge` of core/store/lifecycle.ts for many keys at once, and the purge of history. */
export const PURGE = `
CREATE FUNCTION {schema}.purge_expired_v2(p_scope text, p_before timestamptz, p_limit int, p_now timestamptz)
RETURNS SETOF {schema}.objects LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];
BEGIN${WRITABLE}
  IF p_scope IS NULL THEN${lapsed('')}
  ELSE${lapsed(' AND o.scope = p_scope')}
  END IF;
  IF attempts IS NULL THEN
    RETURN;
  END IF;
  -- A new statement sees changes made before the locks were taken, so it keeps rows that were confirmed meanwhile.
  RETURN QUERY
  WITH ended AS (
    DELETE FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts) AND o.status = 'pending' AND o.expires_at <= p_before
    RETURNING o.*
  ), left_behind AS (
    INSERT INTO {schema}.leftovers (attempt_id, scope, bucket, key, storage_key, upload_id, since, writable_until)
    SELECT e.attempt_id, e.scope, e.bucket, e.key, e.storage_key, e.upload_id, p_now, e.writable_until FROM ended e
    WHERE e.storage_key IS NOT NULL OR e.upload_id IS NOT NULL
    ${ON_SAME_ATTEMPT}
  ), charged AS (
    -- An upsert locks the rows in their sorted order. An UPDATE would not.
    INSERT INTO {schema}.scope_usage AS u (scope, reserved_bytes, reserved_files, pending_rows)
    SELECT e.scope, -sum(${growth('e.declared_size', 'a.size')})::bigint, -count(*) FILTER (WHERE a.id IS NULL), -count(*)
    FROM ended e
    LEFT JOIN {schema}.objects a ON a.bucket = e.bucket AND a.key = e.key AND a.status = 'active'
    GROUP BY e.scope ORDER BY e.scope
    ON CONFLICT (scope) DO UPDATE SET
      reserved_bytes = u.reserved_bytes + excluded.reserved_bytes,
      reserved_files = u.reserved_files + excluded.reserved_files,
      pending_rows = u.pending_rows + excluded.pending_rows
  )
  SELECT e.* FROM ended e ORDER BY e.expires_at, e.id;
END
$body$;

CREATE FUNCTION {schema}.purge_deleted_v2(p_scope text, p_before timestamptz, p_limit int)
RETURNS TABLE (scope text, dropped bigint) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];
BEGIN${WRITABLE}
  -- Deleted rows need no lock on their key, so this locks each row and skips those that another purge has locked.
  IF p_scope IS NULL THEN
    attempts := ARRAY(
      SELECT o.attempt_id FROM {schema}.objects o WHERE o.status = 'deleted' AND o.deleted_at <= p_before
      ORDER BY o.deleted_at, o.id LIMIT p_limit FOR UPDATE SKIP LOCKED);
  ELSE
    -- Without sorts, this order and its row comparisons match only the index by scope. With equality, a plan made while
    -- the table is small could scan the history of all scopes.
    attempts := ARRAY(
      SELECT o.attempt_id FROM {schema}.objects o
      WHERE o.status = 'deleted' AND (o.scope, o.deleted_at) <= (p_scope, p_before)
        AND (o.scope, o.deleted_at) >= (p_scope, '-infinity'::timestamptz)
      ORDER BY o.scope, o.deleted_at, o.id LIMIT p_limit FOR UPDATE SKIP LOCKED);
  END IF;
  RETURN QUERY
  WITH gone AS (
    DELETE FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts) RETURNING o.scope
  ), counted AS (
    SELECT g.scope, count(*) AS dropped FROM gone g GROUP BY g.scope
  ), charged AS (
    INSERT INTO {schema}.scope_usage AS u (scope, deleted_rows)
    SELECT c.scope, -c.dropped FROM counted c ORDER BY c.scope
    ON CONFLICT (scope) DO UPDATE SET deleted_rows = u.deleted_rows + excluded.deleted_rows
  )
  SELECT c.scope, c.dropped FROM counted c ORDER BY c.scope;
END
$body$;
`
