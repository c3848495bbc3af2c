import { INDEX_PLANS, insertLeftovers, lockOf, WRITABLE } from './fragments.js'
import { changeOf, chargeScopes, usageOf } from './usage.js'

/** Skips keys that another transaction has locked. A purge never waits for a key, so it needs no lock order. */
const expired = (condition: string) => `
    SELECT pg_catalog.array_agg(o.attempt_id) INTO attempts FROM (
      SELECT o.attempt_id, o.bucket, o.key FROM {schema}.objects o
      WHERE o.status = 'pending' AND o.expires_at <= p_before${condition}
      ORDER BY o.expires_at, o.id LIMIT p_limit
    ) o WHERE pg_try_advisory_xact_lock(${lockOf('o.bucket', 'o.key')});`

/** Implements `planPurge` of core/store/lifecycle/upload.ts for many keys at once. */
export const PURGE_EXPIRED = `
CREATE OR REPLACE FUNCTION {schema}.purge_expired_v1(p_scope text, p_before timestamptz, p_limit int, p_now timestamptz)
RETURNS SETOF {schema}.objects LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];
BEGIN${WRITABLE}
  IF p_scope IS NULL THEN${expired('')}
  ELSE${expired(' AND o.scope = p_scope')}
  END IF;
  IF attempts IS NULL THEN
    RETURN;
  END IF;
  -- A new statement sees changes made before the locks were taken, so it keeps rows that were confirmed meanwhile.
  RETURN QUERY
  WITH ended AS (
    DELETE FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts) AND o.status = 'pending' AND o.expires_at <= p_before
    RETURNING o.*
  ), left_behind AS (${insertLeftovers('e', 'FROM ended e WHERE e.storage_key IS NOT NULL OR e.upload_id IS NOT NULL')}
  ), charged AS (${chargeScopes(changeOf(usageOf('a.size', 'e.declared_size'), usageOf('a.size', null)), {
    scope: 'e.scope',
    from: `FROM ended e
    LEFT JOIN {schema}.objects a ON a.bucket = e.bucket AND a.key = e.key AND a.status = 'active'`,
  })}
  )
  SELECT e.* FROM ended e ORDER BY e.expires_at, e.id;
END
$body$;
COMMENT ON FUNCTION {schema}.purge_expired_v1 IS 'Ends expired reservations.';
`

/** Purges history. Returns how many rows it deleted of each scope. */
export const PURGE_DELETED = `
CREATE OR REPLACE FUNCTION {schema}.purge_deleted_v2(p_scope text, p_before timestamptz, p_limit int)
RETURNS TABLE (scope text, dropped bigint) LANGUAGE plpgsql VOLATILE
${INDEX_PLANS} AS $body$
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
  ), charged AS (${chargeScopes({ deleted_rows: '-1' }, { scope: 'g.scope', from: 'FROM gone g' })}
  )
  SELECT g.scope, count(*) FROM gone g GROUP BY g.scope ORDER BY g.scope;
END
$body$;
COMMENT ON FUNCTION {schema}.purge_deleted_v2 IS 'Deletes history.';
`
