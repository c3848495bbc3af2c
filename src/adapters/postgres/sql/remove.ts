import { ARGUMENTS, parameters } from './arguments.js'
import { setRemovedAt } from './events.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import { changeOf, charge, NOTHING, usageOf } from './usage.js'

const BEFORE = usageOf('a.size', 'p.declared_size')

/** Implements `planRelease` of core/store/lifecycle/upload.ts. */
export const RELEASE = `
CREATE OR REPLACE FUNCTION {schema}.release_v1(
  ${parameters(ARGUMENTS.release)},
  OUT obj {schema}.objects
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
${charge('p.scope', changeOf(BEFORE, usageOf('a.size', null)))}
  obj := p;
END
$body$;
COMMENT ON FUNCTION {schema}.release_v1 IS 'Ends an attempt: deletes its pending row.';
`

/** Implements `planRemove` of core/store/lifecycle/object.ts. */
export const REMOVE = `
CREATE OR REPLACE FUNCTION {schema}.remove_v2(
  ${parameters(ARGUMENTS.remove)},
  OUT obj {schema}.objects
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
${charge('p.scope', changeOf(BEFORE, usageOf('a.size', null)))}
    RETURN;
  END IF;
  IF p_mode = 'soft' THEN
    UPDATE {schema}.objects o SET status = 'deleted', updated_at = p_now, deleted_at = p_now
    WHERE o.attempt_id = a.attempt_id RETURNING o.* INTO obj;
  ELSE
    told := ${setRemovedAt('p_now')};
    DELETE FROM {schema}.objects o WHERE o.attempt_id = a.attempt_id;
    obj := a;
  END IF;${leaveBehind('a')}
${charge('a.scope', changeOf(BEFORE, { ...NOTHING, deleted_rows: `(p_mode = 'soft')::int` }))}
END
$body$;
COMMENT ON FUNCTION {schema}.remove_v2 IS 'Removes the active row of a key, and its pending one.';
`
