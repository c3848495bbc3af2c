import { lockOf, NEW_SNAPSHOTS } from './fragments.js'

/** What a command of a batch may carry: the arguments of the functions that it calls, as the names of a JSON object. */
const COMMAND = `(
      kind text, id uuid, bucket text, key text, declared_size bigint, expires_at timestamptz, route text, filename text,
      content_type text, metadata json, storage_key text, upload_id text, overwrite boolean, size bigint, e_tag text,
      max_bytes bigint, max_files bigint, now timestamptz
    )`

/**
 * Several writes of one scope in one transaction, each by the function that does it alone, so by the same rules: a
 * refused one changes nothing. They are of one scope, because batches of several would lock usage rows in any order.
 */
export const WRITE_BATCH = `
CREATE FUNCTION {schema}.write_batch_v1(p_scope text, p_commands json)
RETURNS TABLE (
  outcome text, used bigint, requested bigint, changed boolean, other_scope text, obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  command record;
  others text[];
BEGIN${NEW_SNAPSHOTS}
  -- All keys before the first row, and in one order: two batches that want the same keys can't wait for each other.
  PERFORM pg_advisory_xact_lock(k.number) FROM (
    SELECT DISTINCT ${lockOf('c.bucket', 'c.key')} AS number
    FROM json_to_recordset(p_commands) AS c(bucket text, key text) ORDER BY 1
  ) k;

  -- Whoever takes the place of another scope's lapsed reservation changes two usage rows, which are locked in the order
  -- of their scopes; the first command would lock that of this scope out of turn. What lies at the keys stays as it is
  -- now. A subquery for each key: a plan made while the table is small can't turn that into a scan.
  SELECT array_agg(k.owner) INTO others FROM (
    SELECT (
      SELECT o.scope FROM {schema}.objects o
      WHERE o.bucket = c.bucket AND o.key = c.key AND o.status = 'pending' AND o.expires_at <= c.now
    ) AS owner
    FROM json_to_recordset(p_commands) AS c(bucket text, key text, now timestamptz)
  ) k WHERE k.owner <> p_scope;
  IF others IS NOT NULL THEN
    PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope = ANY (others || p_scope) ORDER BY u.scope FOR UPDATE;
  END IF;

  FOR command IN
    SELECT c.* FROM json_to_recordset(p_commands) AS c${COMMAND}
  LOOP
    CASE command.kind
      WHEN 'reserve' THEN
        RETURN QUERY SELECT r.outcome, r.used, r.requested, r.changed, r.other_scope, r.obj
          FROM {schema}.reserve_v1(
            command.id, p_scope, command.bucket, command.key, command.declared_size, command.expires_at, command.route,
            command.filename, command.content_type, command.metadata, command.storage_key, command.upload_id,
            command.overwrite, command.max_bytes, command.max_files, command.now) r;
      WHEN 'confirm' THEN
        RETURN QUERY SELECT r.outcome, r.used, r.requested, r.changed, NULL::text, r.obj
          FROM {schema}.confirm_v1(
            command.bucket, command.key, command.id, p_scope, command.size, command.e_tag, command.content_type,
            command.max_bytes, command.now) r;
    END CASE;
  END LOOP;
END
$body$;
`
