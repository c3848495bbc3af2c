import { INDEX_PLANS } from './fragments.js'
import { endOf } from './marks.js'
import { hasOtherName, hasUsualName, nameOf } from './names.js'
import { usageOfScope } from './reads.js'
import { BEFORE_ALL_DATES, leftoverText, objectText } from './rows.js'
import { SUMS } from './tables.js'
import { sumColumns } from './usage.js'

/** Whether a name is in the requested range. The names that start with `p_prefix` end before `p_end`. */
const inRange = (name: string) => `${name} >= p_prefix AND ${name} > p_after AND ${name} < p_end`

/** Lists scopes by their rows, one index descent for each. Usage rows are kept for scopes that have become empty. */
export const LIST_SCOPES = `
CREATE OR REPLACE FUNCTION {schema}.list_scopes_v1(p_prefix text, p_end text, p_after text, p_limit int)
RETURNS TABLE (
  scope text, ${SUMS.map((sum) => `${sum} bigint`).join(', ')}
) LANGUAGE plpgsql STABLE
${INDEX_PLANS} AS $body$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH RECURSIVE walk AS (
    (SELECT o.scope FROM {schema}.objects o WHERE ${inRange('o.scope')} ORDER BY o.scope LIMIT 1)
    UNION ALL
    SELECT (SELECT o.scope FROM {schema}.objects o WHERE o.scope > w.scope AND o.scope < p_end ORDER BY o.scope LIMIT 1)
    FROM walk w WHERE w.scope IS NOT NULL
  )
  SELECT w.scope, ${sumColumns('u')}
  FROM (SELECT w.scope FROM walk w WHERE w.scope IS NOT NULL LIMIT p_limit) w
  -- LIMIT keeps this a lookup for each scope. A merge would walk the whole index.
  LEFT JOIN LATERAL ${usageOfScope('w.scope')} ON true
  ORDER BY w.scope;
END
$body$;
COMMENT ON FUNCTION {schema}.list_scopes_v1 IS 'Lists scopes with their sums.';
`

/**
 * Lists expired reservations of all scopes or of one. The order matches only one index each, also that of one scope, which is
 * no equality. In a statement, the planner could sort the few rows that it expects, and read an index from its beginning.
 */
export const LIST_EXPIRED = `
CREATE OR REPLACE FUNCTION {schema}.list_expired_v1(
  p_scope text, p_before timestamptz, p_from timestamptz, p_after uuid, p_limit int
)
RETURNS SETOF {schema}.objects LANGUAGE plpgsql STABLE
${INDEX_PLANS} AS $body$
#variable_conflict use_column
BEGIN
  IF p_scope IS NULL THEN
    RETURN QUERY SELECT o.* FROM {schema}.objects o
    WHERE o.status = 'pending' AND o.expires_at <= p_before AND (o.expires_at, o.id) > (p_from, p_after)
    ORDER BY o.expires_at, o.id LIMIT p_limit;
  ELSE
    RETURN QUERY SELECT o.* FROM {schema}.objects o
    WHERE o.status = 'pending' AND o.scope = ANY (ARRAY[p_scope])
      AND o.expires_at <= p_before AND (o.expires_at, o.id) > (p_from, p_after)
    ORDER BY o.scope, o.expires_at, o.id LIMIT p_limit;
  END IF;
END
$body$;
COMMENT ON FUNCTION {schema}.list_expired_v1 IS 'Lists expired reservations.';
`

/**
 * Selects due leftovers in their order, after a position. The order matches only one index each: with an equality, that of the
 * index of all scopes would match too. A row comparison with the scope would not end the walk at the last due one.
 */
const dueLeftovers = (after: string, upto: string, limit: string) => `
  IF p_scope IS NULL THEN
    RETURN QUERY SELECT l.* FROM {schema}.leftovers l
    WHERE (l.due_at, l.attempt_id) > (${after}) AND l.due_at <= ${upto}
    ORDER BY l.due_at, l.attempt_id LIMIT ${limit};
  ELSE
    RETURN QUERY SELECT l.* FROM {schema}.leftovers l
    WHERE l.scope = ANY (ARRAY[p_scope]) AND (l.due_at, l.attempt_id) > (${after}) AND l.due_at <= ${upto}
    ORDER BY l.scope, l.due_at, l.attempt_id LIMIT ${limit};
  END IF;`

const NEVER = `'${BEFORE_ALL_DATES}'::timestamptz`

/**
 * Lists leftovers that were never put off, which sort first, and then those that are due again. Each part starts at a place of
 * its own, because entries of leftovers that are gone stay in front of both while an old snapshot is open.
 */
export const LIST_DUE_LEFTOVERS = `
CREATE OR REPLACE FUNCTION {schema}.list_due_leftovers_v1(
  p_scope text, p_before timestamptz, p_undeferred_after uuid, p_due_from timestamptz, p_due_after uuid, p_limit int
)
RETURNS SETOF {schema}.leftovers LANGUAGE plpgsql STABLE
${INDEX_PLANS} AS $body$
#variable_conflict use_column
DECLARE
  found_rows int;
BEGIN${dueLeftovers(`${NEVER}, p_undeferred_after`, NEVER, 'p_limit')}
  GET DIAGNOSTICS found_rows = ROW_COUNT;
  IF found_rows < p_limit THEN${dueLeftovers('p_due_from, p_due_after', 'p_before', 'p_limit - found_rows')}
  END IF;
END
$body$;
COMMENT ON FUNCTION {schema}.list_due_leftovers_v1 IS 'Lists leftovers that are due.';
`

const NAMED_AFTER_ATTEMPT = `o.storage_key = ((o.key || '~') || o.attempt_id::text)`

/** Reads the first names of an index, and all items of the last one of these, into two arrays. */
const firstOf = (
  [names, items]: readonly [string, string],
  { name, item, source }: Readonly<Record<'name' | 'item' | 'source', string>>,
) => `
  SELECT pg_catalog.array_agg(i.name), pg_catalog.array_agg(i.item) INTO ${names}, ${items} FROM (
    SELECT ${name} AS name, ${item} AS item FROM (
      SELECT i.* FROM ${source} AND ${inRange(name)} ORDER BY ${name} FETCH FIRST (p_limit) ROWS WITH TIES
    ) i
  ) i;`

const listedObject = (row: string) => objectText(row, endOf(row), 'p_metadata')

/**
 * Lists live rows and leftovers by the name of their bytes.
 *
 * Rows with a usual name come from the index by key. Its order is nearly that of the names, but the name `a~<id>` of the
 * key `a` comes after the keys that begin with `a/`. So:
 * - Rows are read up to a key, `upto`, such that enough names come before it although some come after it. These belong to
 *   keys that `upto` begins with, so they are few.
 * - Rows of earlier keys can have names within the page. The place where the page starts begins with their keys.
 *
 * All other names come from indexes by name. A page reads at most a few rows of each index more than it returns, and the
 * rows that have other names but keys in its range, as an import under other keys creates them.
 *
 * Names in variables have lost the collation of the columns.
 */
export const LIST_STORED = `
CREATE OR REPLACE FUNCTION {schema}.list_stored_v1(p_bucket text, p_prefix text, p_end text, p_after text, p_limit int, p_metadata boolean)
RETURNS TABLE (name text, object text, leftover text) LANGUAGE plpgsql STABLE
${INDEX_PLANS} AS $body$
#variable_conflict use_column
DECLARE
  start text := greatest(p_prefix COLLATE "C", p_after COLLATE "C");
  last text;
  upto text;
  seen text := p_after;
  usual_names text[];
  usual_rows text[];
  other_names text[];
  other_rows text[];
  leftover_names text[];
  leftovers text[];
  more_names text[];
  more_rows text[];
  -- Usually the only row with a later name is the last one, or both rows of its key.
  wanted int := p_limit + 2;
  later int;
BEGIN${firstOf(['other_names', 'other_rows'], {
  name: 'i.storage_key',
  item: listedObject('i'),
  source: `{schema}.objects i WHERE i.bucket = p_bucket AND ${hasOtherName('i')}`,
})}
  last := least(p_end COLLATE "C", other_names[p_limit]);

  LOOP
    SELECT pg_catalog.array_agg(i.name), pg_catalog.array_agg(i.item), pg_catalog.max(i.key)
    INTO more_names, more_rows, upto FROM (
      SELECT o.key, ${nameOf('o')} AS name, ${listedObject('o')} AS item FROM (
        SELECT o.* FROM {schema}.objects o
        WHERE o.bucket = p_bucket AND ${hasUsualName('o')} AND ${inRange('o.key')} AND o.key > seen AND o.key <= last
        ORDER BY o.key FETCH FIRST (wanted) ROWS WITH TIES
      ) o
    ) i;
    usual_names := pg_catalog.array_cat(usual_names, more_names);
    usual_rows := pg_catalog.array_cat(usual_rows, more_rows);
    IF more_names IS NULL OR pg_catalog.cardinality(more_names) < wanted THEN
      upto := last;
      EXIT;
    END IF;
    SELECT count(*) INTO later FROM pg_catalog.unnest(usual_names) AS i(name) WHERE i.name > upto COLLATE "C";
    wanted := p_limit + 2 * later - pg_catalog.cardinality(usual_names);
    EXIT WHEN wanted <= later;
    seen := upto;
  END LOOP;
  -- Not beyond the page: entries of leftovers that are gone stay in the index while an old snapshot is open.${firstOf(
    ['leftover_names', 'leftovers'],
    {
      name: nameOf('i'),
      item: leftoverText('i'),
      source: `{schema}.leftovers i WHERE i.bucket = p_bucket AND ${nameOf('i')} <= upto COLLATE "C"`,
    },
  )}

  RETURN QUERY
  SELECT n.name, n.object, n.leftover FROM (
    SELECT i.name, i.item AS object, NULL::text AS leftover
    FROM ROWS FROM (pg_catalog.unnest(usual_names), pg_catalog.unnest(usual_rows)) AS i(name, item)
    UNION ALL
    SELECT o.storage_key, ${listedObject('o')}, NULL
    -- A lookup for each key: a plan made while the table is small would filter the whole bucket.
    FROM pg_catalog.generate_series(1, char_length(start)) AS length
    CROSS JOIN LATERAL (
      SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = left(start, length) AND o.status <> 'deleted' OFFSET 0
    ) o
    WHERE NOT (${inRange('o.key')} AND o.key <= last) AND ${NAMED_AFTER_ATTEMPT}
      AND ${inRange('o.storage_key')} AND o.storage_key <= last
    UNION ALL
    SELECT i.name, i.item, NULL
    FROM ROWS FROM (pg_catalog.unnest(other_names), pg_catalog.unnest(other_rows)) AS i(name, item)
    UNION ALL
    SELECT i.name, NULL, i.item
    FROM ROWS FROM (pg_catalog.unnest(leftover_names), pg_catalog.unnest(leftovers)) AS i(name, item)
  ) n
  WHERE n.name <= upto COLLATE "C"
  ORDER BY n.name COLLATE "C" FETCH FIRST (p_limit) ROWS WITH TIES;
END
$body$;
COMMENT ON FUNCTION {schema}.list_stored_v1 IS 'Lists live rows and leftovers by the name of their bytes.';
`
