import { growth, LIVE_ROWS, lockOf, objectText, READ_LIVE_ROWS, WRITABLE } from '../step-1/fragments.js'
import { leaveBehind, refusalText } from './fragments.js'
import { attemptIdIn, hasOtherName, nameOf } from './storage-names.js'
import { lockUsage, USAGE_ROWS } from './usage-rows.js'

/**
 * Implements `planAdopt` of core/store/lifecycle.ts. Returns a `WriteResult`.
 *
 * It locks the storage key as well, with the lock of a key of that name. So two adoptions of the same bytes under
 * different keys run one after the other, and none runs beside a write of the key that the bytes are named after. Rows are
 * read before leftovers: a row that ends meanwhile becomes a leftover, never the other way round.
 *
 * The settings keep the plans of tables that were empty when they were made. Sorting the few rows of a name is cheap, but
 * with sorts disabled its estimated cost would start a compilation.
 */
export const ADOPT = `
CREATE FUNCTION {schema}.adopt_v1(
  p_id uuid, p_scope text, p_bucket text, p_key text, p_storage_key text, p_size bigint, p_created_at timestamptz,
  p_e_tag text, p_route text, p_filename text, p_content_type text, p_metadata json, p_now timestamptz
) RETURNS text LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE_ROWS}
  known {schema}.objects;
  named uuid;
  receives boolean;
  refused text;
  more_bytes bigint;
  answer text;
BEGIN${WRITABLE}
  PERFORM pg_advisory_xact_lock(k.number) FROM (
    SELECT ${lockOf('p_bucket', 'p_key')} AS number UNION SELECT ${lockOf('p_bucket', 'p_storage_key')} ORDER BY 1
  ) k;

  named := ${attemptIdIn('p_storage_key')};
  SELECT n.* INTO known FROM (
    SELECT o.* FROM {schema}.objects o
    WHERE o.bucket = p_bucket AND o.key = p_storage_key AND o.status <> 'deleted' AND ${nameOf('o')} = p_storage_key
    UNION ALL
    -- The bucket and the status are compared as expressions, which the index by key does not match.
    SELECT o.* FROM {schema}.objects o
    WHERE o.attempt_id = named AND o.storage_key = p_storage_key AND o.bucket || '' = p_bucket
      AND o.status || '' <> 'deleted'
    UNION ALL
    -- Row comparisons and this order match only the index by storage key.
    SELECT o.* FROM (
      SELECT o.* FROM {schema}.objects o
      WHERE (o.bucket, o.storage_key) >= (p_bucket, p_storage_key) AND (o.bucket, o.storage_key) <= (p_bucket, p_storage_key)
        AND ${hasOtherName('o')}
      ORDER BY o.bucket, o.storage_key
    ) o
  ) n
  WHERE n.status <> 'active' OR n.storage_key IS NOT NULL OR n.scope <> p_scope OR n.key <> p_key
  ORDER BY n.status, n.key LIMIT 1;
  IF known.id = p_id THEN
    RETURN '{"outcome":"adopted","object":' || ${objectText('known')} || '}';
  ELSIF known.id IS NOT NULL THEN
    RETURN '{"outcome":"known","object":' || ${objectText('known')} || '}';
  END IF;
  IF EXISTS (SELECT FROM {schema}.leftovers l WHERE l.bucket = p_bucket AND ${nameOf('l')} = p_storage_key) THEN
    RETURN '{"outcome":"known"}';
  END IF;
${READ_LIVE_ROWS}
  receives := a.id IS NOT NULL AND a.storage_key IS NULL AND a.scope = p_scope;
  IF (a.id IS NOT NULL AND NOT receives) OR p.expires_at > p_now THEN
    RETURN '{"outcome":"key-conflict"}';
  END IF;

  IF NOT receives OR p.id IS NOT NULL THEN${lockUsage('p_scope', 'coalesce(p.scope, p_scope)')}
    more_bytes := CASE WHEN receives THEN 0 ELSE p_size END
      - CASE WHEN p.scope = p_scope THEN ${growth('p.declared_size', 'a.size')} ELSE 0 END;
    refused := {schema}.refusal_v1(usage.bytes + usage.reserved_bytes, more_bytes, NULL, 0, 0, NULL);
    IF refused IS NOT NULL THEN
      RETURN ${refusalText('usage.bytes + usage.reserved_bytes', 'usage.reserved_bytes', 'more_bytes')};
    END IF;
  END IF;

  IF p.id IS NOT NULL THEN
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
  END IF;
  IF receives THEN
    UPDATE {schema}.objects o SET storage_key = p_storage_key, updated_at = p_now WHERE o.attempt_id = a.attempt_id
    RETURNING ${objectText('o')} INTO answer;
  ELSE
    INSERT INTO {schema}.objects AS o (
      id, attempt_id, scope, bucket, key, status, route, filename, content_type, size, e_tag, metadata, storage_key,
      created_at, updated_at, confirmed_at, writable_until)
    VALUES (
      p_id, p_id, p_scope, p_bucket, p_key, 'active', p_route, p_filename, p_content_type, p_size, p_e_tag, p_metadata,
      p_storage_key, p_created_at, p_now, p_now, p_now)
    RETURNING ${objectText('o')} INTO answer;
  END IF;
  IF NOT receives OR p.id IS NOT NULL THEN
    UPDATE {schema}.scope_usage u SET
      bytes = u.bytes + CASE WHEN u.scope = p_scope AND NOT receives THEN p_size ELSE 0 END,
      files = u.files + (u.scope = p_scope AND NOT receives)::int,
      reserved_bytes = u.reserved_bytes
        - CASE WHEN u.scope = p.scope THEN ${growth('p.declared_size', 'a.size')} ELSE 0 END,
      reserved_files = u.reserved_files - CASE WHEN u.scope = p.scope AND a.id IS NULL THEN 1 ELSE 0 END,
      pending_rows = u.pending_rows - CASE WHEN u.scope = p.scope THEN 1 ELSE 0 END
    WHERE u.scope IN (p_scope, p.scope);
  END IF;
  IF p.scope <> p_scope THEN
    RETURN '{"outcome":"adopted","object":' || answer || ',"otherScope":' || pg_catalog.to_json(p.scope)::text || '}';
  END IF;
  RETURN '{"outcome":"adopted","object":' || answer || '}';
END
$body$;
`
