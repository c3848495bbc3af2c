import { ARGUMENTS, parameters } from './arguments.js'
import { recordCheck } from './events.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import {
  dropTerms,
  hasArrived,
  isChecked,
  isMarked,
  isOnlyChecked,
  readEnd,
  secondsAfter,
  unmarked,
} from './marks.js'
import { ATTEMPT_COLUMNS, type ValueOf } from './reserve.js'
import { objectText } from './rows.js'
import { NOT_FOUND } from './verdicts.js'
import { changeOf, charge, refusalText, refuse, reservedBy, USAGE, usageOf } from './usage.js'

const MORE = { bytes: 'more_bytes', files: '0' }
const MAX = { bytes: 'p_max_bytes', files: 'NULL' }

/** Stores in the pending row `o` what a confirm tells of its bytes. Its arguments have these values. */
const storeBytesBy = (valueOf: ValueOf) => `
      size = ${valueOf('size')}, e_tag = ${valueOf('e_tag')},
      content_type = coalesce(${valueOf('content_type')}, o.content_type), upload_id = NULL, expires_at = NULL,
      updated_at = ${valueOf('now')}, confirmed_at = ${valueOf('now')}`

/** Makes the pending row `o` active. */
export const activateBy = (valueOf: ValueOf) => `
      status = 'active', declared_size = NULL,${storeBytesBy(valueOf)}`

const argument = (name: string) => `p_${name}`
const ACTIVATED = activateBy(argument)
/** A row whose bytes are to be checked stays pending. */
const ARRIVED = storeBytesBy(argument)
/** The row that arrived keeps its ETag. */
const ACCEPTED = activateBy((name) => (name === 'e_tag' ? 'o.e_tag' : argument(name)))

/**
 * Selects the row of the attempt `o`, if its key has no active one. No condition but that of the attempt suits an index, so no
 * plan made while the table is small reads the rows of a scope.
 */
const ONLY_ROW = `o.attempt_id = p_id AND o.bucket = p_bucket AND o.key = p_key
      AND o.scope IS NOT DISTINCT FROM coalesce(p_scope, o.scope)
      AND NOT EXISTS (
        SELECT FROM {schema}.objects a WHERE a.bucket = p_bucket AND a.key = p_key AND a.status = 'active')`

/** What the only row of a key adds to the sums if it becomes active. */
const CHARGE_ONLY_ROW = charge('owner', changeOf(usageOf(null, 'p_size'), usageOf('p_size', null)))

/** Sets the end of the check of a row that has just arrived. */
export const BEGIN_CHECK = `
CREATE OR REPLACE FUNCTION {schema}.begin_check_v1(p_attempt uuid, p_now timestamptz)
RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
  ends timestamptz;
BEGIN
  UPDATE {schema}.terms t SET check_until = ${secondsAfter('p_now', 't.check_seconds')}
  WHERE t.attempt_id = p_attempt RETURNING t.check_until INTO ends;
  RETURN ends;
END
$body$;
COMMENT ON FUNCTION {schema}.begin_check_v1 IS 'Begins the check of an attempt, and returns when its time is over.';
`

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
  -- The usual cases, the first bytes of a key and as many as announced, in one statement. Only a pending row has a declared
  -- size. An end of the object, which few have, needs more.
  IF p_accept THEN
    UPDATE {schema}.objects o SET${ACCEPTED}, writable_until = ${unmarked('o.writable_until')}
    WHERE ${ONLY_ROW} AND o.status || '' = 'pending' AND ${hasArrived('o')} AND ${isOnlyChecked('o')} AND ${matches('o')}
    RETURNING o.scope, ${objectText('o')} INTO owner, answer;
    IF FOUND THEN
      DELETE FROM {schema}.terms t WHERE t.attempt_id = p_id;${CHARGE_ONLY_ROW}
      RETURN '{"outcome":"confirmed","object":' || answer || '}';
    END IF;
  ELSE
    UPDATE {schema}.objects o SET${ACTIVATED}
    WHERE ${ONLY_ROW} AND o.declared_size = p_size AND NOT (${isMarked('o')})
    RETURNING o.scope, ${objectText('o')} INTO owner, answer;
    IF FOUND THEN${CHARGE_ONLY_ROW}
      RETURN '{"outcome":"confirmed","object":' || answer || '}';
    END IF;
    UPDATE {schema}.objects o SET${ARRIVED}
    WHERE ${ONLY_ROW} AND o.declared_size = p_size AND NOT ${hasArrived('o')} AND ${isChecked('o')}
    RETURNING ${objectText('o', '{schema}.begin_check_v1(o.attempt_id, p_now)')} INTO answer;
    IF FOUND THEN${recordCheck({ type: 'arrived', object: 'answer', previous: 'NULL', reason: 'NULL' })}
      RETURN '{"outcome":"confirmed","object":' || answer || '}';
    END IF;
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
    ends := {schema}.begin_check_v1(p.attempt_id, p_now);
    UPDATE {schema}.objects o SET${ARRIVED}
    WHERE o.attempt_id = p.attempt_id RETURNING ${objectText('o', 'ends')} INTO answer;${readEnd('a', 'a_end')}${recordCheck(
      {
        type: 'arrived',
        object: 'answer',
        previous: `CASE WHEN a.id IS NOT NULL THEN ${objectText('a', 'a_end')} END`,
        reason: 'NULL',
      },
    )}

    IF p_size <> ${reservedBy('p')} THEN${charge('p.scope', changeOf(usageOf('a.size', reservedBy('p')), usageOf('a.size', 'p_size')))}
    END IF;
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
