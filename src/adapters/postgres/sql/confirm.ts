import { ARGUMENTS, parameters } from './arguments.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import { dropTerms, hasArrived, isMarked, readEnd, secondsAfter, unmarked } from './marks.js'
import { ATTEMPT_COLUMNS } from './reserve.js'
import { objectText } from './rows.js'
import { NOT_FOUND } from './verdicts.js'
import { changeOf, charge, refusalText, refuse, reservedBy, USAGE, usageOf } from './usage.js'

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
const TAKEN = ['attempt_id', ...ATTEMPT_COLUMNS.filter((name) => !NOT_TAKEN.includes(name))]

/** The row stays marked if the object has an end. */
const KEEP_MARK = `writable_until = CASE WHEN ends IS NULL THEN ${unmarked('p.writable_until')} ELSE p.writable_until END`

/** Whether a confirm that made this row is repeated. */
const matches = (row: string) => `${row}.size = p_size AND (
      (p_id IS NULL AND ${row}.e_tag = p_e_tag)
      OR (${row}.attempt_id = p_id AND (p_e_tag IS NULL OR ${row}.e_tag = p_e_tag))
    )`

/** Implements `planConfirm` of core/store/lifecycle/plans.ts. Returns a `WriteResult`. */
export const CONFIRM = `
CREATE OR REPLACE FUNCTION {schema}.confirm_v2(
  ${parameters(ARGUMENTS.confirm)}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE}
  owner text;
  more_bytes bigint;
  answer text;
  agreed {schema}.terms;
  a_end timestamptz;
  ends timestamptz;
  told boolean;
BEGIN${LOCK_KEY}
  -- The usual case, the first bytes of a key and as many as announced, in one statement. Only a pending row has a declared
  -- size, and only one without terms has no mark. No condition but that of the attempt suits an index, so no plan made while the table is small reads the rows of a
  -- scope.
  UPDATE {schema}.objects o SET${ACTIVATED}
  WHERE o.attempt_id = p_id AND o.bucket = p_bucket AND o.key = p_key AND o.declared_size = p_size
    AND p_accept IS NOT TRUE AND NOT (${isMarked('o')}) AND o.scope IS NOT DISTINCT FROM coalesce(p_scope, o.scope)
    AND NOT EXISTS (
      SELECT FROM {schema}.objects a WHERE a.bucket = p_bucket AND a.key = p_key AND a.status = 'active')
  RETURNING o.scope, ${objectText('o')} INTO owner, answer;
  IF FOUND THEN${charge('owner', changeOf(usageOf(null, 'p_size'), usageOf('p_size', null)))}
    RETURN '{"outcome":"confirmed","object":' || answer || '}';
  END IF;${READ_LIVE_ROWS}
  IF p_scope IS NOT NULL AND p_scope IS DISTINCT FROM coalesce(a.scope, p.scope) THEN
    RETURN ${NOT_FOUND};
  END IF;
  IF ${isMarked('p')} THEN
    SELECT t.* INTO agreed FROM {schema}.terms t WHERE t.attempt_id = p.attempt_id;
  END IF;
  IF p_accept OR p.id IS NULL OR p.id <> p_id OR ${hasArrived('p')} THEN
    -- Repeats a confirm that succeeded: of this attempt or, if the call names none, of the same bytes.
    IF ${hasArrived('p')} AND ${matches('p')} THEN
      IF p_accept IS NOT TRUE THEN
        RETURN '{"outcome":"confirmed","isRepeat":true,"object":' || ${objectText('p', 'agreed.check_until')} || '}';
      END IF;
      p_e_tag := p.e_tag;
    ELSIF ${matches('a')} THEN${readEnd('a', 'a_end')}
      RETURN '{"outcome":"confirmed","isRepeat":true,"object":' || ${objectText('a', 'a_end')} || '}';
    ELSE
      RETURN ${NOT_FOUND};
    END IF;
  END IF;

  more_bytes := p_size - greatest(${reservedBy('p')}, a.size);
  IF more_bytes > 0 THEN
    -- A size above the reserved one is rare, so this locks the usage row first. Its sums are then final.
    SELECT u.* INTO usage FROM {schema}.scope_usage u WHERE u.scope = p.scope FOR UPDATE;
    ${refuse(MORE, MAX)}
    IF refused IS NOT NULL THEN
      RETURN ${refusalText(MORE)};
    END IF;
  END IF;

  IF p_accept IS NOT TRUE AND agreed.check_seconds IS NOT NULL THEN
    ends := ${secondsAfter('p_now', 'agreed.check_seconds')};
    UPDATE {schema}.terms t SET check_until = ends WHERE t.attempt_id = p.attempt_id;
    UPDATE {schema}.objects o SET
      size = p_size, e_tag = p_e_tag, content_type = coalesce(p_content_type, o.content_type),
      upload_id = NULL, expires_at = NULL, updated_at = p_now, confirmed_at = p_now
    WHERE o.attempt_id = p.attempt_id RETURNING ${objectText('o', 'ends')} INTO answer;${readEnd('a', 'a_end')}
    told := {schema}.record_check_v1('arrived', p_bucket, p_key, answer, CASE WHEN a.id IS NOT NULL THEN ${objectText('a', 'a_end')} END, NULL, p_now);
${charge('p.scope', changeOf(usageOf('a.size', reservedBy('p')), usageOf('a.size', 'p_size')))}
    RETURN '{"outcome":"confirmed","object":' || answer || '}';
  END IF;

  -- A kept object stays kept. Events find the end among the terms.
  IF agreed.temporary_seconds IS NOT NULL AND (a.id IS NULL OR ${isMarked('a')}) THEN
    ends := ${secondsAfter('p_now', 'agreed.temporary_seconds')};
    UPDATE {schema}.terms t SET
      id = coalesce(a.id, p.id), temporary_seconds = NULL, check_seconds = NULL, temporary_until = ends, check_until = NULL
    WHERE t.attempt_id = p.attempt_id;
  END IF;
  IF a.id IS NULL THEN
    UPDATE {schema}.objects o SET${ACTIVATED}, ${KEEP_MARK}
    WHERE o.attempt_id = p.attempt_id RETURNING ${objectText('o', 'ends')} INTO answer;
  ELSE
    -- Updates the row in place. The object keeps its id and therefore its position in every list.
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
    UPDATE {schema}.objects o SET
      content_type = coalesce(p_content_type, p.content_type), size = p_size, e_tag = p_e_tag,
      updated_at = p_now, confirmed_at = p_now, ${TAKEN.map((column) => `${column} = p.${column}`).join(', ')},
      ${KEEP_MARK}
    WHERE o.attempt_id = a.attempt_id RETURNING ${objectText('o', 'ends')} INTO answer;${readEnd('a', 'a_end')}${leaveBehind('a')}
    answer := answer || ',"replaced":' || ${objectText('a', 'a_end')};
  END IF;
  IF ends IS NULL THEN${dropTerms('p')}
  END IF;
${charge('p.scope', changeOf(usageOf('a.size', reservedBy('p')), usageOf('p_size', null)))}
  RETURN '{"outcome":"confirmed","object":' || answer || '}';
END
$body$;
COMMENT ON FUNCTION {schema}.confirm_v2 IS 'Makes the pending row of a key active.';
`
