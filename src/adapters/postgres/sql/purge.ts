import { INDEX_PLANS, insertLeftovers, tryLock, WRITABLE } from './fragments.js'
import { isMarked } from './marks.js'
import { relation } from './tables.js'
import { changeOf, chargeScopes, usageOf } from './usage.js'

/** Selects the foreign keys of the application whose rows keep a row of `objects` from being deleted. */
const keepingKeys = (columns: string) => `
    SELECT ${columns} FROM ${relation('objects')}
    JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid
    JOIN pg_catalog.pg_constraint k ON k.oid = t.tgconstraint
    JOIN pg_catalog.pg_attribute f ON f.attrelid = k.conrelid AND f.attnum = k.conkey[1]
    WHERE k.confrelid = c.oid AND k.confdeltype IN ('a', 'r')`

export const IS_REFERENCED = `
CREATE OR REPLACE FUNCTION {schema}.is_referenced_v1(p_attempt uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $body$
DECLARE
  place text;
  is_referenced boolean;
BEGIN
  FOR place IN${keepingKeys("pg_catalog.format('%s x WHERE x.%I', k.conrelid::regclass, f.attname)")}
  LOOP
    EXECUTE pg_catalog.format('SELECT EXISTS (SELECT FROM %s = %L::uuid)', place, p_attempt) INTO is_referenced;
    IF is_referenced THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END
$body$;
COMMENT ON FUNCTION {schema}.is_referenced_v1 IS 'Returns whether a foreign key of the application keeps a row.';
`

/** Leaves out such rows, because one of them would fail the purge of all others. Without such keys, costs one look for them. */
const UNREFERENCED = ' AND NOT (has_keys AND {schema}.is_referenced_v1(o.attempt_id))'
export const HAS_KEYS = `
  has_keys boolean := EXISTS (${keepingKeys('')});`

/**
 * Selects `attempts` and locks the sums of their scopes. `select` takes a condition of the rows `o`.
 *
 * It waits for half a second for a transaction that holds the sums, less than Postgres takes to look for deadlocks.
 * Then it takes the rows of the scopes whose sums are free, or fails if `mustTake`.
 */
export const lockSums = (select: (condition: string) => string, mustTake = 'false') => `
  BEGIN${select(UNREFERENCED)}
    PERFORM FROM {schema}.scope_usage u
    WHERE u.scope = ANY (ARRAY(SELECT o.scope FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts)))
    ORDER BY u.scope FOR UPDATE;
  EXCEPTION WHEN lock_not_available THEN
    IF ${mustTake} THEN RAISE; END IF;${select(`${UNREFERENCED}
      AND (SELECT true FROM {schema}.scope_usage u WHERE u.scope = o.scope FOR UPDATE SKIP LOCKED)`)}
  END;`
export const SUMS_TIMEOUT = 'SET lock_timeout = 500'

/**
 * Selects expired rows of all scopes or of one, and locks their keys, then them. Skips whatever is locked. A row whose
 * key another write holds stays unlocked: that write may hold the sums for which this waits, and then change the row.
 * The order, and the condition on the scope, which is no equality, match only one index, so no plan sorts and locks the keys of all rows.
 */
const selectExpired = (condition: string) => {
  const candidates = ({ ofScope, order }: Reach) => `
    attempts := ARRAY(
      SELECT o.attempt_id FROM {schema}.objects o
      WHERE o.status = 'pending' AND o.expires_at <= p_before AND o.expires_at >= first${ofScope}${condition}
        AND ${tryLock('o.bucket', 'o.key')}
      ORDER BY ${order}o.expires_at, o.id LIMIT p_limit FOR UPDATE SKIP LOCKED);`
  return `
  IF p_scope IS NULL THEN${candidates(OF_ALL)}
  ELSE${candidates(OF_SCOPE)}
  END IF;`
}

interface Reach {
  readonly ofScope: string
  readonly order: string
}
const OF_ALL: Reach = { ofScope: '', order: '' }
const OF_SCOPE: Reach = { ofScope: ' AND o.scope = ANY (ARRAY[p_scope])', order: 'o.scope, ' }

/**
 * Finds the first row that a purge may take, locked or not. A purge starts there, and the caller starts later ones there:
 * entries of rows that are gone stay in front of it while an old snapshot is open.
 */
const findFirst = (column: string, status: string) => {
  const find = ({ ofScope, order }: Reach) => `
    SELECT o.${column} INTO first FROM {schema}.objects o
    WHERE o.status = '${status}' AND o.${column} <= p_before AND o.${column} >= p_from${ofScope}
    ORDER BY ${order}o.${column}, o.id LIMIT 1;`
  return `
  IF p_scope IS NULL THEN${find(OF_ALL)}
  ELSE${find(OF_SCOPE)}
  END IF;`
}

/** Implements `planPurge` of core/store/lifecycle/plans.ts for many keys at once. */
export const PURGE_EXPIRED = `
CREATE OR REPLACE FUNCTION {schema}.purge_expired_v2(
  p_scope text, p_before timestamptz, p_limit int, p_now timestamptz, p_from timestamptz
)
RETURNS TABLE (first timestamptz, ended {schema}.objects) LANGUAGE plpgsql VOLATILE
${INDEX_PLANS} ${SUMS_TIMEOUT} AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];${HAS_KEYS}
BEGIN${WRITABLE}${findFirst('expires_at', 'pending')}
  IF first IS NULL THEN
    RETURN;
  END IF;${lockSums(selectExpired)}
  IF pg_catalog.cardinality(attempts) = 0 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  -- A new statement keeps rows that were confirmed before the locks. As an expression, the status suits no index.
  RETURN QUERY
  WITH ended AS (
    DELETE FROM {schema}.objects o
    WHERE o.attempt_id = ANY (attempts) AND o.status || '' = 'pending' AND o.expires_at <= p_before
    RETURNING o.*
  ), left_behind AS (${insertLeftovers('e', 'FROM ended e WHERE e.storage_key IS NOT NULL OR e.upload_id IS NOT NULL')}
  ), dropped AS (
    DELETE FROM {schema}.terms t
    WHERE t.attempt_id = ANY (ARRAY(SELECT e.attempt_id FROM ended e WHERE ${isMarked('e')}))
  ), charged AS (${chargeScopes(changeOf(usageOf('a.size', 'e.declared_size'), usageOf('a.size', null)), {
    scope: 'e.scope',
    from: `FROM ended e
    LEFT JOIN {schema}.objects a ON a.bucket = e.bucket AND a.key = e.key AND a.status = 'active'`,
  })}
  )
  SELECT first, ROW(e.*)::{schema}.objects FROM ended e ORDER BY e.expires_at, e.id;
END
$body$;
COMMENT ON FUNCTION {schema}.purge_expired_v2 IS 'Ends expired reservations.';
`

/**
 * Locks deleted rows, which need no lock on their key. Of all scopes, skips those that are locked. Of one scope or id, waits for
 * them, in the order of all callers, because they must be gone when it returns none. The order, and the
 * condition on the scope, which is no equality, match only the index by scope. As expressions, the filters of the rows with an id suit no index in place of those by id.
 */
const selectDeleted = (condition: string) => `
  IF p_id IS NOT NULL THEN
    attempts := ARRAY(
      SELECT o.attempt_id FROM {schema}.objects o
      WHERE o.attempt_id = ANY (ARRAY(
          SELECT d.attempt_id FROM {schema}.objects d WHERE d.attempt_id = p_id AND d.id = p_id
          UNION ALL
          SELECT d.attempt_id FROM {schema}.objects d WHERE d.id = p_id AND d.id <> d.attempt_id
        ))
        AND o.status || '' = 'deleted' AND o.deleted_at <= p_before AND (p_scope IS NULL OR o.scope || '' = p_scope)${condition}
      ORDER BY o.deleted_at, o.attempt_id LIMIT p_limit FOR UPDATE);
  ELSIF p_scope IS NULL THEN
    attempts := ARRAY(
      SELECT o.attempt_id FROM {schema}.objects o
      WHERE o.status = 'deleted' AND o.deleted_at <= p_before AND o.deleted_at >= first${condition}
      ORDER BY o.deleted_at, o.id LIMIT p_limit FOR UPDATE SKIP LOCKED);
  ELSE
    attempts := ARRAY(
      SELECT o.attempt_id FROM {schema}.objects o
      WHERE o.status = 'deleted' AND o.scope = ANY (ARRAY[p_scope]) AND o.deleted_at <= p_before
        AND o.deleted_at >= first${condition}
      ORDER BY o.scope, o.deleted_at, o.id LIMIT p_limit FOR UPDATE);
  END IF;`

/** Whether the caller relies on the history being gone, as `eraseScope` does on that of a scope. */
const MUST_TAKE = '(p_id IS NOT NULL OR p_scope IS NOT NULL)'

/** Purges history. */
export const PURGE_DELETED = `
CREATE OR REPLACE FUNCTION {schema}.purge_deleted_v2(
  p_id uuid, p_scope text, p_before timestamptz, p_limit int, p_from timestamptz, p_rejected_from timestamptz
)
RETURNS TABLE (scope text, dropped bigint, first timestamptz) LANGUAGE plpgsql VOLATILE
${INDEX_PLANS} ${SUMS_TIMEOUT} AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];${HAS_KEYS}
BEGIN${WRITABLE}
  IF p_id IS NULL THEN
    -- Like a reject, before the sums.
    DELETE FROM {schema}.rejections j WHERE j.attempt_id = ANY (CASE WHEN p_scope IS NULL THEN ARRAY(
        SELECT r.attempt_id FROM {schema}.rejections r WHERE r.rejected_at <= p_before AND r.rejected_at >= p_rejected_from
        ORDER BY r.rejected_at FOR UPDATE SKIP LOCKED
      ) ELSE ARRAY(
        SELECT r.attempt_id FROM {schema}.rejections r
        WHERE (r.scope, r.rejected_at) >= (p_scope, p_rejected_from) AND (r.scope, r.rejected_at) <= (p_scope, p_before)
        ORDER BY r.scope, r.rejected_at FOR UPDATE
      ) END);${findFirst('deleted_at', 'deleted')}
    IF first IS NULL THEN
      RETURN;
    END IF;
  END IF;${lockSums(selectDeleted, MUST_TAKE)}
  IF has_keys AND ${MUST_TAKE} AND pg_catalog.cardinality(attempts) = 0 THEN
    -- Nothing else is left. Taking the kept rows fails, because the caller must not believe that nothing is left.
    has_keys := false;${selectDeleted('')}
  END IF;
  IF pg_catalog.cardinality(attempts) = 0 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  RETURN QUERY
  WITH gone AS (
    DELETE FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts) RETURNING o.scope
  ), charged AS (${chargeScopes({ deleted_rows: '-1' }, { scope: 'g.scope', from: 'FROM gone g' })}
  )
  SELECT g.scope, count(*), first FROM gone g GROUP BY g.scope ORDER BY g.scope;
END
$body$;
COMMENT ON FUNCTION {schema}.purge_deleted_v2 IS 'Deletes history.';
`
