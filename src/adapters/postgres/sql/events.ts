import { CLAIM_LOOKAHEAD } from '../../../core/store/inputs/index.js'
import { digestOf, lockOf, WRITABLE } from './fragments.js'
import { isMarked } from './marks.js'
import { milliseconds, objectText, objectValueIn } from './rows.js'
import { relation } from './tables.js'

/** Settings of the transaction, in milliseconds since 1970: the time of a removal, and an end that an update replaces. */
const REMOVED_AT = 'svc_db.removed_at'
const FORMER_END = 'svc_db.former_end'

/** Tells {@link RECORD_EVENT} a date that it can't see, by an expression, because PERFORM costs more. */
const setDate = (setting: string) => (date: string) =>
  `set_config('${setting}', (date_part('epoch', ${date}) * 1000::float8)::bigint::text, true) IS NOT NULL`
export const setRemovedAt = setDate(REMOVED_AT)
/** `NULL` after the update. */
export const setFormerEnd = setDate(FORMER_END)

const dateIn = (setting: string) =>
  `pg_catalog.to_timestamp(nullif(current_setting('${setting}', true), '')::float8 / 1000::float8)`

/** Inserts an event of the object with this digest and number, as its last one. */
const insertEvent = (values: Readonly<Record<'type' | 'at' | 'object' | 'previous' | 'reason', string>>) => `
  LOOP
    INSERT INTO {schema}.events (object_digest, object_number, type, is_first, created_at, due_at, object, previous, reason)
    VALUES (digest, number, ${values.type}, NOT EXISTS (SELECT FROM {schema}.events e WHERE e.object_digest = digest),
      ${values.at}, ${values.at}, ${values.object}, ${values.previous}, ${values.reason})
    ON CONFLICT (id) DO NOTHING RETURNING id, is_first INTO event_id, is_alone;
    EXIT WHEN is_alone OR (event_id IS NOT NULL AND NOT EXISTS (
      SELECT FROM {schema}.events e
      WHERE (e.object_digest, e.id) > (digest, event_id) AND (e.object_digest, e.id) <= (digest, 9223372036854775807)));
    -- The table was moved here without its sequence. The number is taken, or sorts before an older event of the object.
    DELETE FROM {schema}.events e WHERE e.id = event_id;
    PERFORM {schema}.continue_events_v1();
  END LOOP;`

/** Replaces the list of a marked row by one with its end. The terms are there until the change is recorded. */
const withEnd = (row: 'OLD' | 'NEW', list: 'before' | 'after', end: string) => `
    IF ${isMarked(row)} THEN
      SELECT ${end} INTO ends FROM {schema}.terms t WHERE t.attempt_id = ${row}.attempt_id;
      ${list} := ${objectText(row, 'ends')};
    END IF;`

/**
 * The trigger function that records the events of active rows. The triggers exist only while events are on.
 *
 * A trigger sees both versions of a row, whichever function changes it, under the lock of the key. A function must
 * change an active row in place, with one statement per change, and set `updated_at`; one that deletes it must call
 * {@link setRemovedAt}. The setting keeps out plans that scan a small table.
 */
export const RECORD_EVENT = `
CREATE OR REPLACE FUNCTION {schema}.record_event_v1() RETURNS trigger LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off AS $body$
#variable_conflict use_column
DECLARE
  digest uuid;
  number bigint;
  change text;
  changed_at timestamptz;
  after text;
  before text;
  event_id bigint;
  is_alone boolean;
  ends timestamptz;
BEGIN
  IF TG_OP = 'DELETE' THEN
    change := 'deleted';
    digest := ${digestOf('OLD.bucket', 'OLD.key')};
    number := ${lockOf('OLD.bucket', 'OLD.key')};
    after := ${objectText('OLD')};${withEnd('OLD', 'after', 't.temporary_until')}
    -- Nobody has set the time if the row was deleted by a statement from outside the library.
    changed_at := coalesce(
      ${dateIn(REMOVED_AT)},
      pg_catalog.date_trunc('milliseconds', clock_timestamp()));
  ELSE
    digest := ${digestOf('NEW.bucket', 'NEW.key')};
    number := ${lockOf('NEW.bucket', 'NEW.key')};
    after := ${objectText('NEW')};${withEnd('NEW', 'after', 't.temporary_until')}
    changed_at := NEW.updated_at;
    IF TG_OP = 'INSERT' OR OLD.status = 'pending' THEN
      change := 'activated';
    ELSIF NEW.status = 'deleted' THEN
      change := 'deleted';
    ELSE
      before := ${objectText('OLD')};${withEnd('OLD', 'before', `coalesce(${dateIn(FORMER_END)}, t.temporary_until)`)}
      change := CASE WHEN NEW.attempt_id <> OLD.attempt_id THEN 'activated'
        WHEN NEW.scope <> OLD.scope THEN 'transferred' ELSE 'updated' END;
    END IF;
  END IF;
${insertEvent({ type: 'change', at: 'changed_at', object: 'after', previous: 'before', reason: 'NULL' })}
  RETURN NULL;
END
$body$;
COMMENT ON FUNCTION {schema}.record_event_v1 IS 'Records the change of an active row.';
`

/** The trigger whose existence means that events are on. */
export const EVENTS_SWITCH = 'record_update'

export const FIND_SWITCH = `
    SELECT t.oid FROM pg_catalog.pg_trigger t JOIN (${relation('objects')}) ON c.oid = t.tgrelid
    WHERE t.tgname = '${EVENTS_SWITCH}'`

/** Whether events are on, for functions. */
const EVENTS_ARE_ON = `EXISTS (
    SELECT FROM pg_catalog.pg_trigger g
    WHERE g.tgrelid = pg_catalog.to_regclass(pg_catalog.quote_ident({schema-literal}) || '.objects')::oid AND g.tgname = '${EVENTS_SWITCH}')`

/** Records what happens to a pending row, if events are on. Its functions call it, because a trigger would cost every upload. */
export const recordCheck = (values: Readonly<Record<'type' | 'object' | 'previous' | 'reason', string>>) => `
  IF ${EVENTS_ARE_ON} THEN
    told := {schema}.record_check_v1('${values.type}', p_bucket, p_key, ${values.object}, ${values.previous}, ${values.reason}, p_now);
  END IF;`

export const RECORD_CHECK = `
CREATE OR REPLACE FUNCTION {schema}.record_check_v1(
  p_type text, p_bucket text, p_key text, p_object text, p_previous text, p_reason text, p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off AS $body$
#variable_conflict use_column
DECLARE
  digest uuid := ${digestOf('p_bucket', 'p_key')};
  number bigint := ${lockOf('p_bucket', 'p_key')};
  event_id bigint;
  is_alone boolean;
BEGIN${insertEvent({ type: 'p_type', at: 'p_now', object: 'p_object', previous: 'p_previous', reason: 'p_reason' })}
  RETURN true;
END
$body$;
COMMENT ON FUNCTION {schema}.record_check_v1 IS 'Records the arrival or the rejection of a pending row.';
`

/** Selects the sequence that numbers the events, which belongs to a column of theirs. */
export const EVENTS_SEQUENCE = `(
    SELECT d.objid FROM pg_catalog.pg_depend d JOIN (${relation('events')}) ON c.oid = d.refobjid
    WHERE d.refobjsubid > 0 AND d.deptype = 'i'
      AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.classid = 'pg_catalog.pg_class'::regclass
  )`

/**
 * Lets the sequence continue after the newest event. Of two callers at once, one may set it back a little, which the
 * trigger notices. Runs with the rights of the owner, because writers have none on the sequence.
 */
export const CONTINUE_EVENTS = `
CREATE OR REPLACE FUNCTION {schema}.continue_events_v1() RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog AS $body$
BEGIN
  PERFORM setval(s.oid, s.newest)
  FROM (SELECT ${EVENTS_SEQUENCE}::regclass AS oid, (SELECT max(e.id) FROM {schema}.events e) AS newest) s
  WHERE s.newest > coalesce(pg_sequence_last_value(s.oid), 0);
END
$body$;
COMMENT ON FUNCTION {schema}.continue_events_v1 IS 'Lets numbers of events continue after the newest.';
`

/** Selects the oldest event of the object with this digest. Row comparisons and order match only the index by object. */
const oldestOf = (digest: string) => `
      SELECT v.id, v.ctid AS place FROM {schema}.events v
      WHERE (v.object_digest, v.id) >= (${digest}, 0::bigint)
        AND (v.object_digest, v.id) < (${digest}, 9223372036854775807)
      ORDER BY v.object_digest, v.id LIMIT 1`

/** Whether the object with this digest has an event after this one. */
const hasLater = (digest: string, id: string) => `EXISTS (
    SELECT FROM {schema}.events v
    WHERE (v.object_digest, v.id) > (${digest}, ${id}) AND (v.object_digest, v.id) < (${digest}, 9223372036854775807))`

/** Locks the given events whose claim holds, by id. The condition suits both indexes, so no plan walks one. */
const lockHeld = (columns: string) => `
    SELECT s.*, h.place FROM (
      SELECT g.* FROM pg_catalog.json_to_recordset(p_entries) AS g(${columns}) ORDER BY g.id
    ) s CROSS JOIN LATERAL (
      SELECT e.ctid AS place FROM {schema}.events e
      WHERE e.object_digest = s.digest AND e.object_number = s.number AND e.id = s.id AND e.is_claimed
        AND e.attempts = s.claim FOR UPDATE
    ) h`

/** The two kinds of events, those that were never claimed and all others, with the variables for where a claim starts. */
const KINDS = [
  { kind: 'attempts = 0', isWanted: 'p_attempted IS NOT TRUE', from: 'p_first_from', first: 'first_due' },
  { kind: 'attempts > 0', isWanted: 'p_attempted IS NOT FALSE', from: 'p_again_from', first: 'again_due' },
]

/**
 * Finds the first due event of each wanted kind. Its time is `NULL` if there is none. A claim starts there, and the caller starts
 * later looks there: entries of events that are gone stay in front of it while an old snapshot is open.
 */
const FIND_FIRST = KINDS.map(
  ({ kind, isWanted, from, first }) => `
    IF ${isWanted} THEN
      SELECT e.due_at INTO ${first} FROM {schema}.events e
      WHERE e.is_first AND e.${kind} AND e.due_at <= p_now AND e.due_at >= ${from} ORDER BY e.due_at, e.id LIMIT 1;
    END IF;`,
).join('')

/** Selects the events that are due first, of those that were never claimed and of all others. */
const firstOfBothKinds = (columns: string, condition: string, end: string) =>
  KINDS.map(
    ({ kind, first }) => `
        SELECT * FROM (
          SELECT e.id, e.due_at, ${columns} FROM {schema}.events e
          WHERE e.is_first AND e.${kind} AND e.due_at <= p_now AND e.due_at >= ${first} AND ${condition}
          ORDER BY e.due_at, e.id ${end}
        ) k`,
  ).join(`
        UNION ALL`)

/** Locks the events to claim, at most `p_limit`. */
const claimable = (condition: string) => `SELECT u.id, u.place FROM (${firstOfBothKinds(
  'e.ctid AS place',
  condition,
  'LIMIT p_limit FOR UPDATE SKIP LOCKED',
)}
      ) u ORDER BY u.due_at, u.id LIMIT p_limit`

/**
 * Implements `claimEvents`, `settleEvents` and `extendClaims` of core/store/driver.ts. Locked rows are updated by their
 * place in the table, which does not change meanwhile.
 *
 * The number of attempts identifies a claim, and a retry clears `is_claimed`. Writers never wait for event rows and
 * claims wait for nothing. Settling waits for the writers of its keys, because both keep the mark of the oldest event:
 * one recorded while the event before it is removed would never be marked. After half a second it settles the events
 * whose keys are free, and fails if there are none.
 *
 * The settings keep the plans of a queue that was empty, or full, when they were made. Settling allows sorts: to avoid
 * one, Postgres would walk a whole index.
 */
export const DELIVER_EVENTS = `
CREATE OR REPLACE FUNCTION {schema}.claim_events_v1(
  p_bucket text, p_key text, p_attempted boolean, p_limit int, p_now timestamptz, p_until timestamptz, p_last json,
  p_first_from timestamptz, p_again_from timestamptz
)
RETURNS TABLE (
  object_digest uuid, object_number bigint, id bigint, type text, object text, previous text, created_at timestamptz,
  attempts int, has_next boolean, reason text, first_due timestamptz, again_due timestamptz, ids bigint[]
) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $body$
#variable_conflict use_column
DECLARE
  of_object uuid;
  oldest bigint;
  last text[];
  places tid[];
  more bigint[];
  more_places tid[];
BEGIN${WRITABLE}
  IF p_key IS NULL THEN${FIND_FIRST}
    IF first_due IS NULL AND again_due IS NULL THEN
      RETURN;
    END IF;
  END IF;
  IF p_last IS NOT NULL THEN
    last := ARRAY(SELECT pg_catalog.json_array_elements_text(p_last));
    -- As an expression, the mark does not match the condition of an index.
    SELECT coalesce(pg_catalog.array_agg(d.id), '{}'), coalesce(pg_catalog.array_agg(d.place), '{}')
    INTO ids, places FROM (
      SELECT e.id, e.ctid AS place FROM {schema}.events e
      WHERE e.id = ANY (ARRAY(
          SELECT u.id FROM (${firstOfBothKinds('e.object', 'true', `LIMIT ${CLAIM_LOOKAHEAD}`)}
          ) u WHERE ${objectValueIn('u.object', 'scope')} <> ALL (last) ORDER BY u.due_at, u.id LIMIT p_limit
        )) AND e.is_first::int = 1 AND e.due_at <= p_now AND coalesce(p_attempted = (e.attempts > 0), true)
      ORDER BY e.due_at, e.id FOR UPDATE SKIP LOCKED
    ) d;
    p_limit := p_limit - pg_catalog.cardinality(ids);
    SELECT pg_catalog.array_agg(d.id), pg_catalog.array_agg(d.place) INTO more, more_places FROM (
      ${claimable('e.id <> ALL (ids)')}
    ) d;
    ids := ids || more;
    places := places || more_places;
  ELSIF p_key IS NULL THEN
    SELECT pg_catalog.array_agg(d.id), pg_catalog.array_agg(d.place) INTO ids, places FROM (
      ${claimable('true')}
    ) d;
  ELSE
    of_object := ${digestOf('p_bucket', 'p_key')};
    SELECT o.id INTO oldest FROM (${oldestOf('of_object')}
    ) o;
    -- As an expression, the mark does not match the condition of an index.
    SELECT pg_catalog.array_agg(d.id), pg_catalog.array_agg(d.place) INTO ids, places FROM (
      SELECT e.id, e.ctid AS place FROM {schema}.events e
      WHERE e.object_digest = of_object AND e.id = oldest AND e.is_first::int = 1 AND e.due_at <= p_now
        AND coalesce(p_attempted = (e.attempts > 0), true)
      FOR UPDATE SKIP LOCKED
    ) d;
  END IF;
  -- The first row tells the order of the others, and what is due, which other transactions may hold.
  RETURN NEXT;
  RETURN QUERY UPDATE {schema}.events e SET due_at = p_until, is_claimed = true, attempts = e.attempts + 1
  WHERE e.ctid = ANY (places)
  RETURNING e.object_digest, e.object_number, e.id, e.type, e.object, e.previous, e.created_at, e.attempts,
    ${hasLater('e.object_digest', 'e.id')}, e.reason, NULL::timestamptz, NULL::timestamptz, NULL::bigint[];
END
$body$;
COMMENT ON FUNCTION {schema}.claim_events_v1 IS 'Claims events for delivery.';

CREATE OR REPLACE FUNCTION {schema}.settle_events_v1(p_entries json)
RETURNS TABLE (id bigint, has_next boolean, next_due timestamptz)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET lock_timeout = 500 AS $body$
#variable_conflict use_column
DECLARE
  ids bigint[];
  digests uuid[];
  done tid[];
  done_digests uuid[];
  again tid[];
  dates timestamptz[];
  are_done boolean[];
  next_digests uuid[];
  is_held boolean := false;
BEGIN${WRITABLE}
  -- Keys before rows, and both in one order, as in a batch of writes and in extend_claims_v1.
  BEGIN
    PERFORM pg_advisory_xact_lock(k.number) FROM (
      SELECT DISTINCT g.number FROM pg_catalog.json_to_recordset(p_entries) AS g(number bigint, retry_at timestamptz)
      WHERE g.retry_at IS NULL ORDER BY 1
    ) k;
  EXCEPTION WHEN lock_not_available THEN
    p_entries := (
      SELECT pg_catalog.json_agg(g.value) FROM pg_catalog.json_array_elements(p_entries) g
      WHERE g.value->>'retry_at' IS NOT NULL OR pg_try_advisory_xact_lock((g.value->>'number')::bigint));
    is_held := true;
  END;
  SELECT
    pg_catalog.array_agg(l.id),
    pg_catalog.array_agg(l.digest),
    pg_catalog.array_agg(l.retry_at IS NULL),
    pg_catalog.array_agg(l.place) FILTER (WHERE l.retry_at IS NULL),
    pg_catalog.array_agg(l.digest) FILTER (WHERE l.retry_at IS NULL),
    pg_catalog.array_agg(l.place) FILTER (WHERE l.retry_at IS NOT NULL),
    pg_catalog.array_agg(l.retry_at) FILTER (WHERE l.retry_at IS NOT NULL)
  INTO ids, digests, are_done, done, done_digests, again, dates
  FROM (${lockHeld('digest uuid, number bigint, id bigint, claim int, retry_at timestamptz')}
  ) l;
  IF is_held AND ids IS NULL THEN
    RAISE EXCEPTION 'other transactions hold the keys of these events' USING ERRCODE = '55P03';
  END IF;

  DELETE FROM {schema}.events e WHERE e.ctid = ANY (done);
  -- A new statement no longer sees the removed events.
  WITH made_due AS (
    UPDATE {schema}.events e SET is_first = true WHERE e.ctid = ANY (ARRAY(
      SELECT f.place FROM pg_catalog.unnest(done_digests) AS x(digest) CROSS JOIN LATERAL (${oldestOf('x.digest')}
      ) f))
    RETURNING e.object_digest, e.due_at
  )
  SELECT pg_catalog.array_agg(m.object_digest), pg_catalog.min(m.due_at) INTO next_digests, next_due FROM made_due m;
  UPDATE {schema}.events e SET is_claimed = false, due_at = dates[pg_catalog.array_position(again, e.ctid)]
  WHERE e.ctid = ANY (again);
  -- The keys are still locked, so a later event is either seen here, or claimable once its writer has committed.
  RETURN QUERY SELECT ids[n],
    CASE WHEN are_done[n] THEN coalesce(digests[n] = ANY (next_digests), false) ELSE ${hasLater('digests[n]', 'ids[n]')} END,
    next_due FROM pg_catalog.generate_subscripts(ids, 1) AS n;
END
$body$;
COMMENT ON FUNCTION {schema}.settle_events_v1 IS 'Ends claims, and removes the events or schedules a retry.';

CREATE OR REPLACE FUNCTION {schema}.extend_claims_v1(p_entries json, p_until timestamptz) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  ids bigint[];
  held tid[];
BEGIN${WRITABLE}
  SELECT pg_catalog.array_agg(l.id), pg_catalog.array_agg(l.place) INTO ids, held
  FROM (${lockHeld('digest uuid, number bigint, id bigint, claim int')}
  ) l;
  UPDATE {schema}.events e SET due_at = p_until WHERE e.ctid = ANY (held);
  RETURN QUERY SELECT pg_catalog.unnest(ids);
END
$body$;
COMMENT ON FUNCTION {schema}.extend_claims_v1 IS 'Extends claims.';
`

/** Selects the last number that an event has drawn, or `NULL` if this role may not read the sequence. */
const LAST_NUMBER = `
     SELECT CASE WHEN pg_catalog.has_sequence_privilege(s.oid, 'SELECT') THEN pg_catalog.pg_sequence_last_value(s.oid) END AS number
     FROM (SELECT ${EVENTS_SEQUENCE} AS oid) s`

/** Selects an event in the order of {@link readEvent}. */
const columns = (row: string) =>
  `${row}.object_digest, ${row}.object_number, ${row}.id, ${row}.type, ${row}.object, ${row}.previous, ` +
  `${milliseconds(`${row}.created_at`)}, ${row}.attempts, ${row}.reason`

const listedColumns = `${columns('e')}, ${milliseconds('e.due_at')}, e.is_claimed`

export const EVENT_STATEMENTS = {
  claim: `SELECT ${columns('r')}, r.has_next, ${milliseconds('r.first_due')}, ${milliseconds('r.again_due')},
       pg_catalog.array_to_string(r.ids, ',')
     FROM {schema}.claim_events_v1($1::text, $2::text, $3::boolean, $4::int, $5::timestamptz, $6::timestamptz, $7::json,
       $8::timestamptz, $9::timestamptz) r`,
  // These two return the last part of each event id.
  settle: `SELECT r.id, r.has_next, ${milliseconds('r.next_due')} FROM {schema}.settle_events_v1($1::json) r`,
  extend: 'SELECT r.id FROM {schema}.extend_claims_v1($1::json, $2::timestamptz) AS r(id)',
  list: `SELECT ${listedColumns}
     FROM {schema}.events e WHERE e.id > $1::bigint ORDER BY e.id LIMIT $2::int`,
  // Also returns a row if there is no event.
  listFirst: `SELECT ${listedColumns}, d.number FROM (${LAST_NUMBER}) d
     LEFT JOIN LATERAL (SELECT e.* FROM {schema}.events e WHERE e.id > $1::bigint ORDER BY e.id LIMIT $2::int) e ON true
     ORDER BY e.id`,
  isOn: FIND_SWITCH,
  count: `SELECT count(*) FILTER (WHERE e.attempts = 0), count(*) FILTER (WHERE e.is_claimed AND e.due_at > $1::timestamptz),
       count(*) FROM {schema}.events e`,
}
