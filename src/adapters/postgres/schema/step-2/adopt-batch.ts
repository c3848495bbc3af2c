import { lockOf, WRITABLE } from '../step-1/fragments.js'

/**
 * Runs several adoptions of one scope in one transaction, one after the other. All of them change the same usage row, so
 * transactions of their own would wait for each other's commits.
 *
 * It takes every lock before the first adoption does, in the order of all writes: those of the keys and names, then those of the
 * usage rows. An adoption changes the usage row of another scope too if it replaces an expired reservation.
 */
export const ADOPT_BATCH = `
CREATE FUNCTION {schema}.adopt_batch_v1(p_scope text, p_adoptions json)
RETURNS TABLE (place int, answer text) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  owner text;
  one record;
BEGIN${WRITABLE}
  PERFORM pg_advisory_xact_lock(k.number) FROM (
    SELECT ${lockOf('w.bucket', 'w.key')} AS number
    FROM pg_catalog.json_to_recordset(p_adoptions) AS w(bucket text, key text)
    UNION
    SELECT ${lockOf('w.bucket', 'w.storage_key')}
    FROM pg_catalog.json_to_recordset(p_adoptions) AS w(bucket text, storage_key text)
    ORDER BY 1
  ) k;

  FOR owner IN
    SELECT p_scope COLLATE "C" AS scope
    UNION
    SELECT l.scope FROM pg_catalog.json_to_recordset(p_adoptions) AS w(bucket text, key text)
    -- Each key has its own subquery, which a plan made while the table is small can't turn into a scan.
    CROSS JOIN LATERAL (
      SELECT max(o.scope) FILTER (WHERE o.status = 'pending') AS scope
      FROM {schema}.objects o WHERE o.bucket = w.bucket AND o.key = w.key AND o.status <> 'deleted'
    ) l
    WHERE l.scope IS NOT NULL
    ORDER BY 1
  LOOP
    LOOP
      PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope = owner FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO {schema}.scope_usage (scope) VALUES (owner) ON CONFLICT (scope) DO NOTHING;
    END LOOP;
  END LOOP;

  FOR one IN
    SELECT w.* FROM pg_catalog.json_to_recordset(p_adoptions) AS w(
      place int, id uuid, bucket text, key text, storage_key text, size bigint, created_at timestamptz, e_tag text, route text,
      filename text, content_type text, metadata json, now timestamptz)
    ORDER BY w.place
  LOOP
    place := one.place;
    answer := {schema}.adopt_v1(
      one.id, p_scope, one.bucket, one.key, one.storage_key, one.size, one.created_at, one.e_tag, one.route, one.filename,
      one.content_type, one.metadata, one.now);
    RETURN NEXT;
  END LOOP;
END
$body$;
`
