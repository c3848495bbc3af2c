import { REJECTION_SECONDS } from '../../../core/store/inputs/index.js'
import { ARGUMENTS, parameters } from './arguments.js'
import { recordCheck } from './events.js'
import { leaveBehind, LIVE_ROWS, LOCK_KEY, READ_LIVE_ROWS } from './fragments.js'
import { hasArrived, readEnd } from './marks.js'
import { objectText } from './rows.js'
import { changeOf, charge, reservedBy, usageOf } from './usage.js'

/** Rejections that one call forgets. Each call adds one. */
const SWEPT = 10

const HOUR_AGO = `p_now - interval '${REJECTION_SECONDS} seconds'`

/** The result of a confirm that finds no row: the rejection of its attempt, if there was one at this key. */
export const NOT_FOUND = `coalesce((
      SELECT pg_catalog.json_build_object('outcome', 'rejected', 'reason', j.reason)::text FROM {schema}.rejections j
      WHERE p_accept IS NOT TRUE AND j.attempt_id = p_id AND j.rejected_at > ${HOUR_AGO}
        AND j.bucket || '' = p_bucket AND j.key || '' = p_key AND (p_scope IS NULL OR j.scope || '' = p_scope)
    ), '{"outcome":"not-found"}')`

/**
 * Implements `planReject` of core/store/lifecycle/plans.ts. Forgets older rejections from a date on, and returns the first of theirs:
 * entries of those that are gone stay in front of them while an old snapshot is open.
 */
export const REJECT = `
CREATE OR REPLACE FUNCTION {schema}.reject_v1(
  ${parameters(ARGUMENTS.reject)}, p_from timestamptz,
  OUT obj {schema}.objects, OUT ends timestamptz, OUT first timestamptz
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}
  told boolean;
BEGIN${LOCK_KEY}${READ_LIVE_ROWS}
  IF p.id IS NULL OR p.id <> p_id OR p.scope <> p_scope OR NOT (${hasArrived('p')}) THEN
    RETURN;
  END IF;${readEnd('p', 'ends')}
  DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}${recordCheck({ type: 'rejected', object: objectText('p', 'ends'), previous: 'NULL', reason: 'p_reason' })}
  INSERT INTO {schema}.rejections (attempt_id, scope, bucket, key, rejected_at, reason)
  VALUES (p.id, p.scope, p_bucket, p_key, p_now, p_reason)
  ON CONFLICT (attempt_id) DO UPDATE SET scope = excluded.scope, bucket = excluded.bucket, key = excluded.key,
    rejected_at = excluded.rejected_at, reason = excluded.reason;
  WITH forgotten AS (
    DELETE FROM {schema}.rejections j WHERE j.attempt_id = ANY (ARRAY(
      SELECT j.attempt_id FROM {schema}.rejections j WHERE j.rejected_at <= ${HOUR_AGO} AND j.rejected_at >= p_from
      ORDER BY j.rejected_at LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED))
    RETURNING j.rejected_at
  )
  SELECT min(f.rejected_at) INTO first FROM forgotten f;
${charge('p.scope', changeOf(usageOf('a.size', reservedBy('p')), usageOf('a.size', null)))}
  obj := p;
END
$body$;
COMMENT ON FUNCTION {schema}.reject_v1 IS 'Ends an attempt whose bytes have arrived, and remembers that for an hour.';
`
