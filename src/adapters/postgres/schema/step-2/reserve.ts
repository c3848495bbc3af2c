import { growth, LIVE_ROWS, LOCK_KEY, MAX_SUM, objectText, READ_LIVE_ROWS } from '../step-1/fragments.js'
import { leaveBehind, refusalText } from './fragments.js'

/**
 * Implements `planReserve` of core/store/lifecycle.ts. Returns one JSON object, a `WriteResult` of
 * statements/writes.ts. It leaves out a new attempt, because the caller knows the whole row.
 *
 * The usage row is written last, because other writes of the scope wait for the one that changed it. That UPDATE also
 * compares the quota, because it reads the newest version of the row.
 */
export const RESERVE = `
CREATE FUNCTION {schema}.reserve_v2(
  p_id uuid, p_scope text, p_bucket text, p_key text, p_declared_size bigint, p_expires_at timestamptz, p_route text,
  p_filename text, p_content_type text, p_metadata json, p_storage_key text, p_upload_id text, p_overwrite boolean,
  p_max_bytes bigint, p_max_files bigint, p_now timestamptz
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
  is_known boolean;
  mine boolean := true;
  more_bytes bigint := p_declared_size;
  more_files bigint := 1;
  more_pending bigint := 1;
  used_bytes bigint;
  used_files bigint;
  held_bytes bigint;
  held_files bigint;
  refused text;
BEGIN${LOCK_KEY}
  SELECT u.bytes + u.reserved_bytes, u.files + u.reserved_files, u.reserved_bytes, u.reserved_files, EXISTS (
      SELECT FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted')
    INTO used_bytes, used_files, held_bytes, held_files, is_known
    FROM {schema}.scope_usage u WHERE u.scope = p_scope;

  -- A new key, as most are, needs no more reads. Without a usage row, nothing is known yet.
  IF is_known IS NOT FALSE THEN${READ_LIVE_ROWS}
    mine := coalesce(a.scope, p.scope, p_scope) = p_scope;
    IF NOT mine AND (a.id IS NOT NULL OR p.expires_at > p_now) THEN
      RETURN '{"outcome":"key-conflict"}';
    END IF;
    IF mine AND p.id = p_id THEN
      RETURN '{"outcome":"reserved","object":' || ${objectText('p')} || '}';
    END IF;
    IF p_id IN (a.id, a.attempt_id, p.id) THEN
      RETURN '{"outcome":"reused-id"}';
    END IF;
    IF p_storage_key IN (a.storage_key, p.storage_key) THEN
      RETURN '{"outcome":"reused-storage-key"}';
    END IF;
    IF a.id IS NOT NULL AND NOT p_overwrite THEN
      RETURN '{"outcome":"key-conflict"}';
    END IF;

    more_bytes := ${growth('p_declared_size', 'a.size')};
    more_files := (a.id IS NULL)::int;
    IF p.id IS NOT NULL AND mine THEN
      more_bytes := more_bytes - ${growth('p.declared_size', 'a.size')};
      more_files := 0;
      more_pending := 0;
    END IF;

    IF NOT mine THEN
      -- Two usage rows will change. Every transaction locks several of them in the order of their scopes.
      PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope IN (p_scope, p.scope) ORDER BY u.scope FOR UPDATE;
    END IF;
  END IF;

  -- Finds most refusals before anything is written. Only the UPDATE below proves that the upload fits.
  IF coalesce(used_bytes, 0) + more_bytes > p_max_bytes OR coalesce(used_files, 0) + more_files > p_max_files THEN
    refused := {schema}.refusal_v1(
      coalesce(used_bytes, 0), more_bytes, p_max_bytes, coalesce(used_files, 0), more_files, p_max_files);
  END IF;

  IF refused IS NULL THEN
    IF p.id IS NOT NULL THEN
      DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
    END IF;
    INSERT INTO {schema}.objects (
      id, attempt_id, scope, bucket, key, status, route, filename, content_type, declared_size, metadata, storage_key,
      upload_id, expires_at, created_at, updated_at, writable_until)
    VALUES (
      p_id, p_id, p_scope, p_bucket, p_key, 'pending', p_route, p_filename, p_content_type, p_declared_size, p_metadata,
      p_storage_key, p_upload_id, p_expires_at, p_now, p_now, p_expires_at);

    LOOP
      UPDATE {schema}.scope_usage u SET
        reserved_bytes = u.reserved_bytes + more_bytes,
        reserved_files = u.reserved_files + more_files,
        pending_rows = u.pending_rows + more_pending
      WHERE u.scope = p_scope
        AND (p_max_bytes IS NULL OR more_bytes <= 0 OR u.bytes + u.reserved_bytes + more_bytes <= p_max_bytes)
        AND (p_max_files IS NULL OR more_files <= 0 OR u.files + u.reserved_files + more_files <= p_max_files)
        AND u.bytes + u.reserved_bytes + more_bytes <= ${MAX_SUM};
      EXIT WHEN FOUND;
      INSERT INTO {schema}.scope_usage (scope) VALUES (p_scope) ON CONFLICT (scope) DO NOTHING;
      IF NOT FOUND THEN
        SELECT u.bytes + u.reserved_bytes, u.files + u.reserved_files, u.reserved_bytes, u.reserved_files
          INTO used_bytes, used_files, held_bytes, held_files
          FROM {schema}.scope_usage u WHERE u.scope = p_scope;
        refused := {schema}.refusal_v1(used_bytes, more_bytes, p_max_bytes, used_files, more_files, p_max_files);
        -- Without a refusal, another transaction has freed space or inserted the row since the UPDATE. Try it again.
        EXIT WHEN refused IS NOT NULL;
      END IF;
    END LOOP;

    IF refused IS NOT NULL THEN
      -- Other writes have used the space since the first check. The key is still locked, so its row can be restored.
      DELETE FROM {schema}.objects o WHERE o.attempt_id = p_id;
      IF p.id IS NOT NULL THEN
        INSERT INTO {schema}.objects VALUES (p.*);
      END IF;
    END IF;
  END IF;

  IF refused = 'maxFiles' THEN
    RETURN ${refusalText('used_files', 'held_files', 'more_files')};
  ELSIF refused IS NOT NULL THEN
    RETURN ${refusalText('used_bytes', 'held_bytes', 'more_bytes')};
  END IF;

  IF NOT mine THEN
    -- An expired reservation of another scope has no active row beside it, so all its bytes count as growth.
    UPDATE {schema}.scope_usage u SET
      reserved_bytes = u.reserved_bytes - p.declared_size,
      reserved_files = u.reserved_files - 1,
      pending_rows = u.pending_rows - 1
    WHERE u.scope = p.scope;
  END IF;${leaveBehind('p')}
  IF NOT mine THEN
    RETURN pg_catalog.json_build_object('outcome', 'reserved', 'otherScope', p.scope)::text;
  END IF;
  RETURN '{"outcome":"reserved"}';
END
$body$;
`
