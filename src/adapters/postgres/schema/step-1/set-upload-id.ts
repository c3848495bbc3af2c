import { LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'

/** Implements `planSetUploadId` of core/store/lifecycle.ts. No sum changes, so it writes no usage row. */
export const SET_UPLOAD_ID = `
CREATE FUNCTION {schema}.set_upload_id_v1(
  p_bucket text, p_key text, p_id uuid, p_upload_id text, p_now timestamptz,
  OUT outcome text, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF p.id IS DISTINCT FROM p_id THEN
    outcome := 'not-found';
  ELSIF p.upload_id = p_upload_id THEN
    outcome := 'set';
    obj := p;
  ELSIF p.upload_id IS NOT NULL THEN
    outcome := 'other-upload';
  ELSE
    UPDATE {schema}.objects o SET upload_id = p_upload_id, updated_at = p_now WHERE o.attempt_id = p.attempt_id RETURNING o.* INTO obj;
    outcome := 'set';
  END IF;
END
$body$;
`
