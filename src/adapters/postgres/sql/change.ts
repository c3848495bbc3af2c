import { MAX_METADATA_BYTES, MAX_METADATA_ENTRIES } from '../../../core/store/validation/metadata.js'
import { ARGUMENTS, parameters } from './arguments.js'
import { setFormerEnd, setRemovedAt } from './events.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import { dropTerms, hasArrived, isMarked, markedTemporary, readEnd, secondsAfter, unmarked } from './marks.js'
import { mergeMetadata } from './metadata.js'
import { objectText } from './rows.js'
import {
  changeOf,
  charge,
  lockUsage,
  NOTHING,
  OWNERS,
  refusalText,
  refuse,
  reservedBy,
  USAGE,
  usageOf,
} from './usage.js'

/** Implements `planSetUploadId` of core/store/lifecycle/plans.ts. No sum changes, so it writes no usage row. */
export const SET_UPLOAD_ID = `
CREATE OR REPLACE FUNCTION {schema}.set_upload_id_v1(
  ${parameters(ARGUMENTS.setUploadId)},
  OUT outcome text, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF p.id IS DISTINCT FROM p_id OR ${hasArrived('p')} THEN
    outcome := 'not-found';
  ELSIF p.upload_id = p_upload_id THEN
    outcome := 'set';
    obj := p;
  ELSIF p.upload_id IS NOT NULL THEN
    outcome := 'other-upload';
  ELSE
    UPDATE {schema}.objects o SET upload_id = p_upload_id, updated_at = p_now
    WHERE o.attempt_id = p.attempt_id RETURNING o.* INTO obj;
    outcome := 'set';
  END IF;
END
$body$;
COMMENT ON FUNCTION {schema}.set_upload_id_v1 IS 'Sets the multipart upload id of an attempt, once.';
`

/**
 * Implements `planUpdate` of core/store/lifecycle/plans.ts. Returns a `WriteResult`. No sum changes, so it writes no
 * usage row. As `jsonb`, metadata is equal whatever the order of its names.
 */
export const UPDATE = `
CREATE OR REPLACE FUNCTION {schema}.update_v1(
  ${parameters(ARGUMENTS.update)}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
  answer text;
  entries bigint;
  bytes bigint;
  a_end timestamptz;
  ends timestamptz;
  told boolean;
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
${readEnd('a', 'a_end')}
  IF a.id IS NULL OR a.scope <> p_scope OR a.attempt_id <> p_attempt_id OR a_end <= p_now THEN
    RETURN '{"outcome":"updated"}';
  END IF;
  ends := CASE WHEN NOT p_sets_temporary_seconds THEN a_end
    WHEN p_temporary_seconds IS NOT NULL THEN ${secondsAfter('p_now', 'p_temporary_seconds')} END;
  IF p_set_metadata IS NOT NULL THEN${mergeMetadata({ before: 'a.metadata', changes: 'p_set_metadata', into: ['p_metadata', 'entries', 'bytes'] })}
    IF entries > ${MAX_METADATA_ENTRIES} THEN
      RETURN '{"outcome":"metadata-entries","got":"' || entries || '"}';
    ELSIF bytes > ${MAX_METADATA_BYTES} THEN
      RETURN '{"outcome":"metadata-bytes","got":"' || bytes || '"}';
    END IF;
    p_sets_metadata := true;
  END IF;
  IF (p_sets_filename AND a.filename IS DISTINCT FROM p_filename)
    OR (p_sets_content_type AND a.content_type IS DISTINCT FROM p_content_type)
    OR (p_sets_metadata AND a.metadata::jsonb IS DISTINCT FROM p_metadata::jsonb)
    OR (p_sets_e_tag AND a.e_tag IS DISTINCT FROM p_e_tag)
    OR ends IS DISTINCT FROM a_end
  THEN
    -- An event finds the later end among the terms.
    IF ends IS DISTINCT FROM a_end AND ends IS NOT NULL THEN
      told := ${setFormerEnd('a_end')};
      INSERT INTO {schema}.terms (attempt_id, id, scope, temporary_until) VALUES (a.attempt_id, a.id, a.scope, ends)
      ON CONFLICT (attempt_id) DO UPDATE SET temporary_until = excluded.temporary_until;
    END IF;
    UPDATE {schema}.objects o SET
      filename = CASE WHEN p_sets_filename THEN p_filename ELSE o.filename END,
      content_type = CASE WHEN p_sets_content_type THEN p_content_type ELSE o.content_type END,
      metadata = CASE WHEN p_sets_metadata THEN p_metadata ELSE o.metadata END,
      e_tag = CASE WHEN p_sets_e_tag THEN p_e_tag ELSE o.e_tag END,
      writable_until = CASE WHEN ends IS NULL THEN ${unmarked('o.writable_until')} ELSE ${markedTemporary('o.writable_until')} END,
      updated_at = p_now
    WHERE o.attempt_id = a.attempt_id RETURNING ${objectText('o', 'ends')} INTO answer;
    IF ends IS NULL THEN${dropTerms('a')}
    ELSIF told THEN
      told := ${setFormerEnd('NULL::timestamptz')};
    END IF;
  ELSE
    answer := ${objectText('a', 'a_end')};
  END IF;
  RETURN '{"outcome":"updated","object":' || answer || '}';
END
$body$;
COMMENT ON FUNCTION {schema}.update_v1 IS 'Sets the filename, content type, metadata, ETag or end of the active row of a key.';
`

const GAINED = { bytes: 'a.size', files: '1' }

/**
 * Implements `planTransfer` of core/store/lifecycle/plans.ts. Returns a `WriteResult`, without an object if none
 * matched. Unlike a reserve, it locks the two usage rows before it writes, in their order, and compares the quota once.
 */
export const TRANSFER = `
CREATE OR REPLACE FUNCTION {schema}.transfer_v1(
  ${parameters(ARGUMENTS.transfer)}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE}${OWNERS}
  answer text;
  a_end timestamptz;
  is_found boolean;
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}${readEnd('a', 'a_end')}
  is_found := a.id IS NOT NULL AND a.scope IN (p_from, p_to) AND (p_attempt_id IS NULL OR a.attempt_id = p_attempt_id)
    AND (a_end IS NULL OR a_end > p_now);
  IF is_found AND a.scope = p_to THEN
    RETURN '{"outcome":"transferred","object":' || ${objectText('a', 'a_end')} || '}';
  END IF;
  IF ${hasArrived('p')} AND p.scope = p_from AND (is_found OR p_attempt_id IS NULL OR p_attempt_id = p.attempt_id) THEN
    RETURN '{"outcome":"key-conflict"}';
  END IF;
  IF NOT is_found THEN
    RETURN '{"outcome":"transferred"}';
  END IF;
${lockUsage('p_to', 'p_from')}
  ${refuse(GAINED, { bytes: 'p_max_bytes', files: 'p_max_files' })}
  IF refused IS NOT NULL THEN
    RETURN ${refusalText(GAINED)};
  END IF;

  IF p.id IS NOT NULL THEN
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
  END IF;
  UPDATE {schema}.objects o SET scope = p_to, updated_at = p_now WHERE o.attempt_id = a.attempt_id
  RETURNING ${objectText('o', 'a_end')} INTO answer;
  IF ${isMarked('a')} THEN
    UPDATE {schema}.terms t SET scope = p_to WHERE t.attempt_id = a.attempt_id;
  END IF;
${charge('p_from', changeOf(usageOf('a.size', 'p.declared_size'), NOTHING))}
${charge('p_to', changeOf(NOTHING, usageOf('a.size', null)))}
  RETURN '{"outcome":"transferred","object":' || answer || '}';
END
$body$;
COMMENT ON FUNCTION {schema}.transfer_v1 IS 'Gives the active row of a key to another scope.';
`

const BEFORE = usageOf('a.size', reservedBy('p'))

/** Implements `planRelease` of core/store/lifecycle/plans.ts. */
export const RELEASE = `
CREATE OR REPLACE FUNCTION {schema}.release_v2(
  ${parameters(ARGUMENTS.release)},
  OUT obj {schema}.objects, OUT ends timestamptz
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF p.id IS NULL OR p.id <> p_id OR p.scope <> p_scope
    OR (p_upload_id IS NOT NULL AND p.upload_id IS DISTINCT FROM p_upload_id)
    OR (p_unless_arrived AND ${hasArrived('p')})
  THEN
    RETURN;
  END IF;${readEnd('p', 'ends')}
  DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
${charge('p.scope', changeOf(BEFORE, usageOf('a.size', null)))}
  obj := p;
END
$body$;
COMMENT ON FUNCTION {schema}.release_v2 IS 'Ends an attempt: deletes its pending row.';
`

/** Makes the active row `o` history. */
export const intoHistory = `status = 'deleted', updated_at = p_now, deleted_at = p_now,
      writable_until = ${unmarked('o.writable_until')}`

/** Implements `planRemove` of core/store/lifecycle/plans.ts. */
export const REMOVE = `
CREATE OR REPLACE FUNCTION {schema}.remove_v2(
  ${parameters(ARGUMENTS.remove)},
  OUT obj {schema}.objects, OUT ends timestamptz
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
  a_end timestamptz;
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
  IF NOT removes_active THEN${readEnd('p', 'ends')}
  ELSE${readEnd('a', 'a_end')}
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
    UPDATE {schema}.objects o SET ${intoHistory}
    WHERE o.attempt_id = a.attempt_id RETURNING o.* INTO obj;
  ELSE
    told := ${setRemovedAt('p_now')};
    DELETE FROM {schema}.objects o WHERE o.attempt_id = a.attempt_id;
    obj := a;
    ends := a_end;
  END IF;${leaveBehind('a')}
${charge('a.scope', changeOf(BEFORE, { ...NOTHING, deleted_rows: `(p_mode = 'soft')::int` }))}
END
$body$;
COMMENT ON FUNCTION {schema}.remove_v2 IS 'Removes the active row of a key, and its pending one.';
`
