import { LIVE_ROWS, LOCK_KEY, objectText, READ_LIVE_ROWS } from '../step-1/fragments.js'

/**
 * Implements `planUpdate` of core/store/lifecycle.ts. Returns a `WriteResult`. No sum changes, so it writes no usage
 * row.
 *
 * As `jsonb`, metadata with the same names and values is equal, whatever their order.
 */
export const UPDATE = `
CREATE FUNCTION {schema}.update_v1(
  p_bucket text, p_key text, p_scope text, p_attempt_id uuid, p_sets_filename boolean, p_filename text,
  p_sets_content_type boolean, p_content_type text, p_sets_metadata boolean, p_metadata json, p_now timestamptz
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
  answer text;
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF a.id IS NULL OR a.scope <> p_scope OR a.attempt_id <> p_attempt_id THEN
    RETURN '{"outcome":"updated"}';
  END IF;
  IF (p_sets_filename AND a.filename IS DISTINCT FROM p_filename)
    OR (p_sets_content_type AND a.content_type IS DISTINCT FROM p_content_type)
    OR (p_sets_metadata AND a.metadata::jsonb IS DISTINCT FROM p_metadata::jsonb)
  THEN
    UPDATE {schema}.objects o SET
      filename = CASE WHEN p_sets_filename THEN p_filename ELSE o.filename END,
      content_type = CASE WHEN p_sets_content_type THEN p_content_type ELSE o.content_type END,
      metadata = CASE WHEN p_sets_metadata THEN p_metadata ELSE o.metadata END,
      updated_at = p_now
    WHERE o.attempt_id = a.attempt_id RETURNING ${objectText('o')} INTO answer;
  ELSE
    answer := ${objectText('a')};
  END IF;
  RETURN '{"outcome":"updated","object":' || answer || '}';
END
$body$;
`
