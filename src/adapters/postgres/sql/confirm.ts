import { ARGUMENTS, parameters } from './arguments.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import { ATTEMPT_COLUMNS } from './reserve.js'
import { objectText } from './rows.js'
import { changeOf, charge, refusalText, refuse, USAGE, usageOf } from './usage.js'

const MORE = { bytes: 'more_bytes', files: '0' }
const MAX = { bytes: 'p_max_bytes', files: 'NULL' }

/** Makes the pending row `o` active by the arguments of a confirm, which have these values. */
export const activateBy = (valueOf: (argument: string) => string) => `
      status = 'active', size = ${valueOf('size')}, e_tag = ${valueOf('e_tag')},
      content_type = coalesce(${valueOf('content_type')}, o.content_type),
      declared_size = NULL, upload_id = NULL, expires_at = NULL,
      updated_at = ${valueOf('now')}, confirmed_at = ${valueOf('now')}`

const ACTIVATED = activateBy((argument) => `p_${argument}`)

/** What names the object, ends with the attempt or is set above. A replaced object takes over all else. */
const NOT_TAKEN = ['id', 'scope', 'bucket', 'key', 'declared_size', 'expires_at', 'upload_id', 'content_type']
const TAKEN = ['attempt_id', 'writable_until', ...ATTEMPT_COLUMNS.filter((name) => !NOT_TAKEN.includes(name))]

/** Implements `planConfirm` of core/store/lifecycle/plans.ts. Returns a `WriteResult`. */
export const CONFIRM = `
CREATE OR REPLACE FUNCTION {schema}.confirm_v1(
  ${parameters(ARGUMENTS.confirm)}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE}
  owner text;
  more_bytes bigint;
  answer text;
BEGIN${LOCK_KEY}
  -- The usual case, the first bytes of a key and as many as announced, in one statement. Only a pending row has a declared
  -- size. No condition but that of the attempt suits an index, so no plan made while the table is small reads the rows of a
  -- scope.
  UPDATE {schema}.objects o SET${ACTIVATED}
  WHERE o.attempt_id = p_id AND o.bucket = p_bucket AND o.key = p_key AND o.declared_size = p_size
    AND o.scope IS NOT DISTINCT FROM coalesce(p_scope, o.scope)
    AND NOT EXISTS (
      SELECT FROM {schema}.objects a WHERE a.bucket = p_bucket AND a.key = p_key AND a.status = 'active')
  RETURNING o.scope, ${objectText('o')} INTO owner, answer;
  IF FOUND THEN${charge('owner', changeOf(usageOf(null, 'p_size'), usageOf('p_size', null)))}
    RETURN '{"outcome":"confirmed","object":' || answer || '}';
  END IF;${READ_LIVE_ROWS}
  IF p_scope IS NOT NULL AND p_scope IS DISTINCT FROM coalesce(a.scope, p.scope) THEN
    RETURN '{"outcome":"not-found"}';
  END IF;
  IF p.id IS NULL OR p.id <> p_id THEN
    -- Repeats a confirm that succeeded: of this attempt or, if the call names none, of the same bytes.
    IF a.size = p_size AND (
      (p_id IS NULL AND a.e_tag = p_e_tag)
      OR (a.attempt_id = p_id AND (p_e_tag IS NULL OR a.e_tag = p_e_tag))
    ) THEN
      RETURN '{"outcome":"confirmed","isRepeat":true,"object":' || ${objectText('a')} || '}';
    END IF;
    RETURN '{"outcome":"not-found"}';
  END IF;

  more_bytes := p_size - greatest(p.declared_size, a.size);
  IF more_bytes > 0 THEN
    -- A size above the reserved one is rare, so this locks the usage row first. Its sums are then final.
    SELECT u.* INTO usage FROM {schema}.scope_usage u WHERE u.scope = p.scope FOR UPDATE;
    ${refuse(MORE, MAX)}
    IF refused IS NOT NULL THEN
      RETURN ${refusalText(MORE)};
    END IF;
  END IF;

  IF a.id IS NULL THEN
    UPDATE {schema}.objects o SET${ACTIVATED}
    WHERE o.attempt_id = p.attempt_id RETURNING ${objectText('o')} INTO answer;
  ELSE
    -- Updates the row in place. The object keeps its id and therefore its position in every list.
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
    UPDATE {schema}.objects o SET
      content_type = coalesce(p_content_type, p.content_type), size = p_size, e_tag = p_e_tag,
      updated_at = p_now, confirmed_at = p_now, ${TAKEN.map((column) => `${column} = p.${column}`).join(', ')}
    WHERE o.attempt_id = a.attempt_id RETURNING ${objectText('o')} INTO answer;${leaveBehind('a')}
    answer := answer || ',"replaced":' || ${objectText('a')};
  END IF;
${charge('p.scope', changeOf(usageOf('a.size', 'p.declared_size'), usageOf('p_size', null)))}
  RETURN '{"outcome":"confirmed","object":' || answer || '}';
END
$body$;
COMMENT ON FUNCTION {schema}.confirm_v1 IS 'Makes the pending row of a key active.';
`
