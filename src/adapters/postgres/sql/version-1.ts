import { ARGUMENTS, parameters, type Argument } from './arguments.js'
import { lockOf, WRITABLE } from './fragments.js'
import type { CompositeType } from './tables.js'

/** The type of batches of version 1.5, whose function may be running. */
export const SCOPE_WRITE_1: CompositeType = {
  name: 'scope_write_v1',
  columns:
    'place int, kind text, id uuid, bucket text, key text, declared_size bigint, expires_at timestamptz, route text, ' +
    'filename text, content_type text, metadata json, storage_key text, upload_id text, overwrite boolean, size bigint, ' +
    'e_tag text, max_bytes bigint, max_files bigint, now timestamptz',
}

/** Arguments that came later. Version 1.5 knows none of them, as if they were left out. */
const LATER = ['temporary_seconds', 'check_seconds', 'accept', 'unless_arrived']

const CALLED = ['reserve', 'confirm'] as const

const earlier = (all: readonly Argument<never>[]) =>
  parameters(all.filter(({ name }) => !LATER.includes(name)))

const passed = (all: readonly Argument<never>[]) =>
  all.map(({ name }) => (LATER.includes(name) ? 'NULL' : `p_${name}`)).join(', ')

/** A function that takes no later arguments, and calls the current one. */
const withoutLater = (call: (typeof CALLED)[number]) => `
CREATE OR REPLACE FUNCTION {schema}.${call}_v1(
  ${earlier(ARGUMENTS[call])}
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  RETURN {schema}.${call}_v2(
    ${passed(ARGUMENTS[call])});
END
$body$;
COMMENT ON FUNCTION {schema}.${call}_v1 IS '${call}_v2 as version 1.5 calls it.';
`

/**
 * The functions of version 1.5, whose processes run beside newer ones during a deployment, that have fewer arguments
 * than now or return a result for every write of a batch.
 */
export const VERSION_1 = `${CALLED.map(withoutLater).join('')}
CREATE OR REPLACE FUNCTION {schema}.release_v1(
  ${earlier(ARGUMENTS.release)}, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  SELECT (r.obj).* INTO obj FROM {schema}.release_v2(${passed(ARGUMENTS.release)}) r;
END
$body$;
COMMENT ON FUNCTION {schema}.release_v1 IS 'release_v2 as version 1.5 calls it.';

CREATE OR REPLACE FUNCTION {schema}.remove_v1(
  p_bucket text, p_key text, p_scope text, p_soft boolean, p_now timestamptz, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  SELECT (r.obj).* INTO obj FROM {schema}.remove_v2(
    p_bucket, p_key, p_scope, NULL, CASE WHEN p_soft THEN 'soft' ELSE 'hard' END, p_now) r;
END
$body$;
COMMENT ON FUNCTION {schema}.remove_v1 IS 'remove_v2 as version 1.5 calls it.';

CREATE OR REPLACE FUNCTION {schema}.purge_expired_v1(p_scope text, p_before timestamptz, p_limit int, p_now timestamptz)
RETURNS SETOF {schema}.objects LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  RETURN QUERY SELECT (p.ended).* FROM {schema}.purge_expired_v2(p_scope, p_before, p_limit, p_now, '-infinity') p
    WHERE (p.ended).attempt_id IS NOT NULL;
END
$body$;
COMMENT ON FUNCTION {schema}.purge_expired_v1 IS 'purge_expired_v2 as version 1.5 calls it.';

CREATE OR REPLACE FUNCTION {schema}.purge_deleted_v1(p_before timestamptz, p_limit int)
RETURNS TABLE (scope text, dropped bigint) LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
  RETURN QUERY SELECT p.scope, p.dropped FROM {schema}.purge_deleted_v2(NULL, NULL, p_before, p_limit, '-infinity', '-infinity') p
    WHERE p.dropped > 0;
END
$body$;
COMMENT ON FUNCTION {schema}.purge_deleted_v1 IS 'purge_deleted_v2 as version 1.5 calls it.';

CREATE OR REPLACE FUNCTION {schema}.write_batch_v1(p_scope text, p_writes json)
RETURNS TABLE (place int, answer text) LANGUAGE plpgsql VOLATILE AS $body$
BEGIN${WRITABLE}
  -- Locks all keys before the first row, in one order. Otherwise two batches with the same keys could deadlock.
  PERFORM pg_advisory_xact_lock(k.number) FROM (
    SELECT DISTINCT ${lockOf('w.bucket', 'w.key')} AS number
    FROM pg_catalog.json_to_recordset(p_writes) AS w(bucket text, key text) ORDER BY 1
  ) k;
  RETURN QUERY SELECT r.place, r.answer FROM {schema}.write_batch_v2(p_scope, p_writes) r;
END
$body$;
COMMENT ON FUNCTION {schema}.write_batch_v1 IS 'write_batch_v2 as version 1.5 calls it: waits for keys.';
`
