import { intoHistory } from './change.js'
import { setRemovedAt } from './events.js'
import { INDEX_PLANS, insertLeftovers, lockOf, tryLock, WRITABLE } from './fragments.js'
import { endOf, hasArrived, isMarked, unmarked } from './marks.js'
import { HAS_KEYS, lockSums, SUMS_TIMEOUT } from './purge.js'
import { objectText } from './rows.js'
import { changeOf, chargeScopes, reservedBy, usageOf } from './usage.js'

/** Clears the end of active rows `o`. Their terms go in a later statement, because events find the former end there. */
const CLEAR_END = `UPDATE {schema}.objects o SET writable_until = ${unmarked('o.writable_until')}, updated_at = p_now`

/** The objects that name one that has this attempt. */
const NAMED = `pg_catalog.unnest(attempts) WITH ORDINALITY AS f(attempt_id, place)`

/** Whether a row can be kept: an active one that is not past its end, or an arrived one. */
const CAN_BE_KEPT = `CASE o.status
        WHEN 'active' THEN (${endOf('o')} <= p_now) IS NOT TRUE
        WHEN 'pending' THEN ${hasArrived('o')}
      END`

/** Whether the rows that were found are still as they were: every change puts a row in another place of the table. */
const ARE_UNCHANGED = `(SELECT count(*) FROM {schema}.objects s WHERE s.ctid = ANY (tuples)) = pg_catalog.cardinality(p_ids)`

/** Locks keys in the order of their numbers. */
const LOCK_NUMBERS = `
    FOREACH number IN ARRAY numbers LOOP
      locked := pg_advisory_xact_lock(number) IS NOT NULL;
    END LOOP;`

const keptText = (row: string) =>
  `'{"outcome":"kept","objects":[' || string_agg(${row}.object, ',' ORDER BY ${row}.place) || ']}'`

const isTemporary = `o.status || '' = 'active' AND ${isMarked('o')}`

/**
 * Implements `keep` of core/store/driver.ts. Returns JSON: the outcome, and the rows or the indexes of objects.
 *
 * A refusal needs no lock, because one statement sees all rows at one moment. Otherwise it locks the keys. If a row has changed
 * meanwhile, as it has with every change of its end, it looks again.
 *
 * No sum and no indexed column of `objects` changes, so each row costs a HOT update.
 */
export const KEEP = `
CREATE OR REPLACE FUNCTION {schema}.keep_v1(p_scope text, p_ids uuid[], p_attempts uuid[], p_now timestamptz)
RETURNS text LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  locked boolean;
  number bigint;
  numbers bigint[];
  tuples tid[];
  end_tuples tid[];
  attempts uuid[];
  found_rows bigint;
  different bigint;
  with_end bigint;
  arrived bigint;
  answer text;
BEGIN${WRITABLE}
  -- The usual case: each object is temporary, and named by the attempt that made its version.
  SELECT pg_catalog.array_agg(DISTINCT f.number ORDER BY f.number), pg_catalog.array_agg(f.tuple), pg_catalog.array_agg(f.end_tuple)
  INTO numbers, tuples, end_tuples
  FROM ROWS FROM (pg_catalog.unnest(p_ids), pg_catalog.unnest(p_attempts)) AS w(id, attempt_id)
  CROSS JOIN LATERAL (
    SELECT ${lockOf('o.bucket', 'o.key')} AS number, o.ctid AS tuple, t.ctid AS end_tuple
    FROM {schema}.objects o JOIN {schema}.terms t ON t.attempt_id = o.attempt_id
    WHERE o.attempt_id = w.id AND o.scope || '' = p_scope AND ${isTemporary} AND t.temporary_until > p_now
    OFFSET 0
  ) f
  WHERE w.attempt_id IS NULL OR w.attempt_id = w.id;
  IF pg_catalog.cardinality(numbers) = pg_catalog.cardinality(p_ids) THEN${LOCK_NUMBERS}
    WITH changed AS (
      ${CLEAR_END}
      WHERE o.ctid = ANY (tuples)
        AND ${ARE_UNCHANGED}
      RETURNING pg_catalog.array_position(p_ids, o.attempt_id) AS place, ${objectText('o')} AS object
    )
    SELECT ${keptText('c')} INTO answer FROM changed c;
    IF answer IS NOT NULL THEN
      DELETE FROM {schema}.terms t WHERE t.ctid = ANY (end_tuples);
      RETURN answer;
    END IF;
  END IF;

  LOOP
    SELECT pg_catalog.array_agg(f.attempt_id ORDER BY w.place), pg_catalog.array_agg(DISTINCT f.number ORDER BY f.number),
      pg_catalog.array_agg(f.tuple), pg_catalog.count(f.attempt_id), pg_catalog.count(DISTINCT f.attempt_id),
      pg_catalog.count(*) FILTER (WHERE f.is_temporary), pg_catalog.count(*) FILTER (WHERE f.has_arrived)
    INTO attempts, numbers, tuples, found_rows, different, with_end, arrived
    FROM ROWS FROM (pg_catalog.unnest(p_ids), pg_catalog.unnest(p_attempts)) WITH ORDINALITY AS w(id, attempt_id, place)
    LEFT JOIN LATERAL (
      SELECT o.attempt_id, ${lockOf('o.bucket', 'o.key')} AS number, o.tuple, ${isTemporary} AS is_temporary, o.status = 'pending' AS has_arrived
      FROM (
        SELECT o.*, o.ctid AS tuple FROM {schema}.objects o WHERE o.attempt_id = w.id
        UNION ALL
        SELECT o.*, o.ctid AS tuple FROM {schema}.objects o WHERE o.id = w.id AND o.id <> o.attempt_id
        OFFSET 0
      ) o
      WHERE o.scope = p_scope AND (w.attempt_id IS NULL OR o.attempt_id = w.attempt_id) AND ${CAN_BE_KEPT}
      LIMIT 1
    ) f ON true;
    IF different < found_rows THEN
      SELECT '{"outcome":"repeated","index":' || (r.place - 1)::text || ',"earlier":' || (r.earlier - 1)::text || '}' INTO answer FROM (
        SELECT f.place, min(f.place) OVER (PARTITION BY f.attempt_id) AS earlier FROM ${NAMED} WHERE f.attempt_id IS NOT NULL
      ) r WHERE r.earlier < r.place ORDER BY r.place LIMIT 1;
      RETURN answer;
    ELSIF found_rows < pg_catalog.cardinality(p_ids) THEN
      SELECT '{"outcome":"missing","indexes":[' || string_agg((f.place - 1)::text, ',' ORDER BY f.place) || ']}' INTO answer
      FROM ${NAMED} WHERE f.attempt_id IS NULL;
      RETURN answer;
    END IF;
${LOCK_NUMBERS}
    EXIT WHEN ${ARE_UNCHANGED};
  END LOOP;

  WITH changed AS (
    ${CLEAR_END}
    WHERE o.attempt_id = ANY (attempts) AND ${isTemporary}
    RETURNING pg_catalog.array_position(attempts, o.attempt_id) AS place, ${objectText('o')} AS object
  )
  SELECT ${keptText('r')} INTO answer FROM (
    SELECT c.place, c.object FROM changed c
    UNION ALL
    SELECT f.place, ${objectText('o', endOf('o'))} FROM ${NAMED}
    -- A join could walk the whole index, by a plan that was made while the table was small.
    CROSS JOIN LATERAL (SELECT o.* FROM {schema}.objects o WHERE o.attempt_id = f.attempt_id OFFSET 0) o
    WHERE with_end < found_rows AND NOT (${isTemporary})
  ) r;
  IF with_end > 0 THEN
    DELETE FROM {schema}.terms t WHERE t.attempt_id = ANY (attempts) AND t.check_until IS NULL;
  END IF;
  IF arrived > 0 THEN
    UPDATE {schema}.terms t SET temporary_seconds = NULL WHERE t.attempt_id = ANY (attempts);
  END IF;
  RETURN answer;
END
$body$;
COMMENT ON FUNCTION {schema}.keep_v1 IS 'Clears the ends of temporary objects, of all or of none.';
`

/** Selects and locks the active rows of the objects whose end is still the one that was read. Skips those that are locked. */
const selectEnds = (which: string, lock: string, condition = '') => `ARRAY(
      SELECT h.attempt_id FROM pg_catalog.json_to_recordset(p_objects) AS w(
        place int, bucket text, key text, id uuid, attempt_id uuid, temporary_until timestamptz, is_kept boolean)
      CROSS JOIN LATERAL (
        SELECT o.attempt_id FROM {schema}.objects o
        WHERE o.attempt_id = w.attempt_id AND o.id = w.id AND o.bucket = w.bucket AND o.key = w.key AND o.status = 'active'
          AND ${endOf('o')} = w.temporary_until${condition}
        FOR ${lock} SKIP LOCKED
      ) h
      WHERE w.place = ANY (places) AND ${which} ORDER BY w.place
    )`

const selectRemoved = (condition: string) => `
    attempts := ${selectEnds('NOT w.is_kept AND w.temporary_until <= p_ended_by', 'UPDATE', condition)};`

const AFTER = { ...usageOf(null, reservedBy('p')), deleted_rows: `(p_mode = 'soft')::int` }

/** The end of a removed row `e`, whose terms go in a later statement. Of history, the mark is gone. */
const END_OF_REMOVED = '(SELECT t.temporary_until FROM {schema}.terms t WHERE t.attempt_id = e.attempt_id)'

/** Removes the locked rows and returns them, in the order of the objects. */
const removeBy = (statement: string, end: string | null) => `
    RETURN QUERY
    WITH ended AS (
      ${statement} WHERE o.attempt_id = ANY (attempts) RETURNING o.*
    ), left_behind AS (${insertLeftovers('e', 'FROM ended e WHERE e.storage_key IS NOT NULL OR e.upload_id IS NOT NULL', END_OF_REMOVED)}
    ), charged AS (${chargeScopes(changeOf(usageOf('e.size', reservedBy('p')), AFTER), {
      scope: 'e.scope',
      from: `FROM ended e
    LEFT JOIN {schema}.objects p ON p.bucket = e.bucket AND p.key = e.key AND p.status = 'pending'`,
    })}
    )
    SELECT ${objectText('e', end)} FROM ended e ORDER BY pg_catalog.array_position(attempts, e.attempt_id);`

/**
 * Implements `endTemporary` of core/store/driver.ts. Returns the removed rows as JSON. As in a purge, keys and rows that others hold are
 * passed over, and so are rows that a foreign key of the application keeps, even if they would stay as history: they are in use.
 */
export const END_TEMPORARY = `
CREATE OR REPLACE FUNCTION {schema}.end_temporary_v1(
  p_objects json, p_mode text, p_ended_by timestamptz, p_now timestamptz
) RETURNS SETOF text LANGUAGE plpgsql VOLATILE
${INDEX_PLANS} ${SUMS_TIMEOUT} AS $body$
#variable_conflict use_column
DECLARE
  places int[];
  attempts uuid[];
  told boolean;${HAS_KEYS}
BEGIN${WRITABLE}
  places := ARRAY(
    SELECT w.place FROM pg_catalog.json_to_recordset(p_objects) AS w(place int, bucket text, key text)
    WHERE ${tryLock('w.bucket', 'w.key')});
  attempts := ${selectEnds('w.is_kept', 'NO KEY UPDATE')};
  ${CLEAR_END} WHERE o.attempt_id = ANY (attempts);
  DELETE FROM {schema}.terms t WHERE t.attempt_id = ANY (attempts);
${lockSums(selectRemoved)}
  IF p_mode = 'soft' THEN${removeBy(`UPDATE {schema}.objects o SET ${intoHistory}`, null)}
  ELSE
    told := ${setRemovedAt('p_now')};${removeBy('DELETE FROM {schema}.objects o', endOf('e'))}
  END IF;
  DELETE FROM {schema}.terms t WHERE t.attempt_id = ANY (attempts);
END
$body$;
COMMENT ON FUNCTION {schema}.end_temporary_v1 IS 'Removes objects that are past their end.';
`
