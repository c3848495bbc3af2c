import { lockOf, WRITABLE } from '../step-1/fragments.js'

/**
 * Implements `claimEvents`, `settleEvents` and `extendClaims` of core/store/driver.ts.
 *
 * The number of attempts identifies a claim: a newer claim has a higher one, and a retry clears `is_claimed`. Writers
 * never wait for event rows and claims wait for nothing. Settling waits for the writers of its keys, because both keep
 * the mark of the oldest event: one that was recorded while another transaction removes the event before it would never
 * be marked.
 *
 * The settings keep the plans of a queue that was empty, or full, when they were made. Settling allows sorts: to avoid
 * one, Postgres would walk a whole index.
 */
export const DELIVER_EVENTS = `
CREATE FUNCTION {schema}.claim_events_v1(p_bucket text, p_key text, p_limit int, p_now timestamptz, p_until timestamptz)
RETURNS TABLE (id bigint, type text, object text, previous text, created_at timestamptz, attempts int)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $body$
#variable_conflict use_column
DECLARE
  number bigint;
  ids bigint[];
BEGIN${WRITABLE}
  IF p_key IS NULL THEN
    ids := ARRAY(
      SELECT e.id FROM {schema}.events e WHERE e.is_first AND e.due_at <= p_now
      ORDER BY e.due_at, e.id LIMIT p_limit FOR UPDATE SKIP LOCKED);
  ELSE
    number := ${lockOf('p_bucket', 'p_key')};
    -- Row comparisons and this order match only the index by object.
    SELECT pg_catalog.array_agg(o.id) INTO ids FROM (
      SELECT e.id FROM {schema}.events e
      WHERE (e.object_number, e.id) >= (number, 0::bigint) AND (e.object_number, e.id) < (number, 9223372036854775807)
      ORDER BY e.object_number, e.id LIMIT 1
    ) o;
    ids := ARRAY(
      SELECT e.id FROM {schema}.events e WHERE e.id = ANY (ids) AND e.is_first AND e.due_at <= p_now
      FOR UPDATE SKIP LOCKED);
  END IF;
  RETURN QUERY
  WITH claimed AS (
    UPDATE {schema}.events e SET due_at = p_until, is_claimed = true, attempts = e.attempts + 1 WHERE e.id = ANY (ids)
    RETURNING e.*, pg_catalog.array_position(ids, e.id) AS place
  )
  SELECT c.id, c.type, c.object, c.previous, c.created_at, c.attempts FROM claimed c ORDER BY c.place;
END
$body$;

CREATE FUNCTION {schema}.settle_events_v1(p_entries json) RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  given bigint[];
  removed bigint[];
  done bigint[];
  again bigint[];
  dates timestamptz[];
  numbers bigint[];
BEGIN${WRITABLE}
  SELECT pg_catalog.array_agg(s.id), pg_catalog.array_agg(s.id) FILTER (WHERE s.retry_at IS NULL) INTO given, removed
  FROM pg_catalog.json_to_recordset(p_entries) AS s(id bigint, retry_at timestamptz);

  -- Keys before rows, and both in one order, as in a batch of writes and in extend_claims_v1.
  PERFORM pg_advisory_xact_lock(k.number) FROM (
    SELECT DISTINCT e.object_number AS number FROM {schema}.events e WHERE e.id = ANY (removed) ORDER BY 1
  ) k;
  PERFORM 1 FROM {schema}.events e WHERE e.id = ANY (given) ORDER BY e.id FOR UPDATE;
  SELECT
    pg_catalog.array_agg(s.id) FILTER (WHERE s.retry_at IS NULL), pg_catalog.array_agg(s.id) FILTER (WHERE s.retry_at IS NOT NULL),
    pg_catalog.array_agg(s.retry_at) FILTER (WHERE s.retry_at IS NOT NULL)
  INTO done, again, dates
  FROM pg_catalog.json_to_recordset(p_entries) AS s(id bigint, claim int, retry_at timestamptz)
  WHERE (SELECT e.attempts FROM {schema}.events e WHERE e.id = s.id AND e.is_claimed) = s.claim;

  WITH gone AS (
    DELETE FROM {schema}.events e WHERE e.id = ANY (done) RETURNING e.object_number
  )
  SELECT pg_catalog.array_agg(g.object_number) INTO numbers FROM gone g;
  -- A new statement no longer sees the removed events. A subquery for each object, whose row comparisons and order match
  -- only the index by object.
  UPDATE {schema}.events e SET is_first = true WHERE e.id = ANY (ARRAY(
    SELECT f.id FROM pg_catalog.unnest(numbers) AS x(number) CROSS JOIN LATERAL (
      SELECT v.id FROM {schema}.events v
      WHERE (v.object_number, v.id) >= (x.number, 0::bigint) AND (v.object_number, v.id) < (x.number, 9223372036854775807)
      ORDER BY v.object_number, v.id LIMIT 1
    ) f));
  UPDATE {schema}.events e SET is_claimed = false, due_at = dates[pg_catalog.array_position(again, e.id)]
  WHERE e.id = ANY (again);
  RETURN QUERY SELECT pg_catalog.unnest(done || again);
END
$body$;

CREATE FUNCTION {schema}.extend_claims_v1(p_entries json, p_until timestamptz) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  given bigint[];
  held bigint[];
BEGIN${WRITABLE}
  SELECT pg_catalog.array_agg(s.id) INTO given FROM pg_catalog.json_to_recordset(p_entries) AS s(id bigint);
  PERFORM 1 FROM {schema}.events e WHERE e.id = ANY (given) ORDER BY e.id FOR UPDATE;
  SELECT pg_catalog.array_agg(s.id) INTO held
  FROM pg_catalog.json_to_recordset(p_entries) AS s(id bigint, claim int)
  WHERE (SELECT e.attempts FROM {schema}.events e WHERE e.id = s.id AND e.is_claimed) = s.claim;
  UPDATE {schema}.events e SET due_at = p_until WHERE e.id = ANY (held);
  RETURN QUERY SELECT pg_catalog.unnest(held);
END
$body$;
`
