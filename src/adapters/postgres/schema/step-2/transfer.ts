import { growth, LIVE_ROWS, LOCK_KEY, objectText, READ_LIVE_ROWS } from '../step-1/fragments.js'
import { leaveBehind, refusalText } from './fragments.js'
import { lockUsage, USAGE_ROWS } from './usage-rows.js'

/**
 * Implements `planTransfer` of core/store/lifecycle.ts. Returns a `WriteResult`, without an object if none matched.
 *
 * Unlike a reserve, it locks the usage rows before it writes: it changes two, whose order must not depend on what it
 * finds, and the quota is then compared once.
 */
export const TRANSFER = `
CREATE FUNCTION {schema}.transfer_v1(
  p_bucket text, p_key text, p_from text, p_to text, p_attempt_id uuid, p_max_bytes bigint, p_max_files bigint,
  p_now timestamptz
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE_ROWS}
  refused text;
  answer text;
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF a.id IS NULL OR a.scope NOT IN (p_from, p_to) OR a.attempt_id <> p_attempt_id THEN
    RETURN '{"outcome":"transferred"}';
  END IF;
  IF a.scope = p_to THEN
    RETURN '{"outcome":"transferred","object":' || ${objectText('a')} || '}';
  END IF;
${lockUsage('p_to', 'p_from')}
  refused := {schema}.refusal_v1(
    usage.bytes + usage.reserved_bytes, a.size, p_max_bytes, usage.files + usage.reserved_files, 1, p_max_files);
  IF refused = 'maxFiles' THEN
    RETURN ${refusalText('usage.files + usage.reserved_files', 'usage.reserved_files', '1')};
  ELSIF refused IS NOT NULL THEN
    RETURN ${refusalText('usage.bytes + usage.reserved_bytes', 'usage.reserved_bytes', 'a.size')};
  END IF;

  IF p.id IS NOT NULL THEN
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
  END IF;
  UPDATE {schema}.objects o SET scope = p_to, updated_at = p_now WHERE o.attempt_id = a.attempt_id
  RETURNING ${objectText('o')} INTO answer;
  UPDATE {schema}.scope_usage u SET
    bytes = u.bytes - a.size,
    files = u.files - 1,
    reserved_bytes = u.reserved_bytes - ${growth('p.declared_size', 'a.size')},
    pending_rows = u.pending_rows - (p.id IS NOT NULL)::int
  WHERE u.scope = p_from;
  UPDATE {schema}.scope_usage u SET bytes = u.bytes + a.size, files = u.files + 1 WHERE u.scope = p_to;
  RETURN '{"outcome":"transferred","object":' || answer || '}';
END
$body$;
`
