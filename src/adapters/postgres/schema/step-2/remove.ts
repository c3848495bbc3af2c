import { growth, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from '../step-1/fragments.js'
import { leaveBehind } from './fragments.js'
import { setRemovedAt } from './record-event.js'

/** Implements `planRelease` and `planRemove` of core/store/lifecycle.ts. */
export const REMOVE = `
CREATE FUNCTION {schema}.release_v2(
  p_bucket text, p_key text, p_id uuid, p_scope text, p_upload_id text, p_now timestamptz, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF p.id IS NULL OR p.id <> p_id OR p.scope <> p_scope
    OR (p_upload_id IS NOT NULL AND p.upload_id IS DISTINCT FROM p_upload_id)
  THEN
    RETURN;
  END IF;
  DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
  UPDATE {schema}.scope_usage u SET
    reserved_bytes = u.reserved_bytes - ${growth('p.declared_size', 'a.size')},
    reserved_files = u.reserved_files - (a.id IS NULL)::int,
    pending_rows = u.pending_rows - 1
  WHERE u.scope = p.scope;
  obj := p;
END
$body$;

CREATE FUNCTION {schema}.remove_v2(
  p_bucket text, p_key text, p_scope text, p_attempt_id uuid, p_soft boolean, p_now timestamptz, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
  removes_active boolean;
  told boolean;
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF coalesce(a.id, p.id) IS NULL OR coalesce(a.scope, p.scope) <> p_scope THEN
    RETURN;
  END IF;
  removes_active := a.id IS NOT NULL AND (p_attempt_id IS NULL OR a.attempt_id = p_attempt_id);
  IF NOT removes_active AND (p.id IS NULL OR p.attempt_id <> p_attempt_id) THEN
    RETURN;
  END IF;
  IF p.id IS NOT NULL THEN
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
  END IF;
  IF NOT removes_active THEN
    obj := p;
  ELSE
    IF p_soft THEN
      UPDATE {schema}.objects o SET status = 'deleted', updated_at = p_now, deleted_at = p_now
      WHERE o.attempt_id = a.attempt_id RETURNING o.* INTO obj;
    ELSE
      told := ${setRemovedAt('p_now')};
      DELETE FROM {schema}.objects o WHERE o.attempt_id = a.attempt_id;
      obj := a;
    END IF;${leaveBehind('a')}
  END IF;
  UPDATE {schema}.scope_usage u SET
    bytes = u.bytes - CASE WHEN removes_active THEN a.size ELSE 0 END,
    files = u.files - removes_active::int,
    reserved_bytes = u.reserved_bytes - ${growth('p.declared_size', 'a.size')},
    reserved_files = u.reserved_files - (a.id IS NULL)::int,
    pending_rows = u.pending_rows - (p.id IS NOT NULL)::int,
    deleted_rows = u.deleted_rows + (removes_active AND p_soft)::int
  WHERE u.scope = obj.scope;
END
$body$;
`
