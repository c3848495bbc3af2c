import { objectText } from '../step-1/fragments.js'
import { hasOtherName, hasUsualName, nameOf } from './storage-names.js'

const milliseconds = (date: string) => `(date_part('epoch', ${date}) * 1000::float8)::bigint::text`

/** Returns a leftover as a JSON list of strings, in the order of `readLeftover` in statements/object-row.ts. */
const leftoverText = `pg_catalog.json_build_array(
      l.attempt_id, l.scope, l.bucket, l.key, l.storage_key, l.upload_id, ${milliseconds('l.since')},
      ${milliseconds('l.writable_until')}, ${milliseconds(`nullif(l.due_at, '-infinity'::timestamptz)`)}
    )::text`

/** Whether a name is in the requested range. `p_last` sorts after every name with the prefix `p_first`. */
const inRange = (name: string, last = 'p_last') =>
  `${name} >= p_first AND ${name} > p_after AND ${name} <= ${last}`

const prefixesOf = (text: string) =>
  `ARRAY(SELECT left(${text}, n) FROM pg_catalog.generate_series(1, char_length(${text})) n)`

const NAMED_AFTER_ATTEMPT = `o.storage_key = ((o.key || '~') || o.attempt_id::text)`

/**
 * Lists live rows and leftovers by the name of their bytes.
 *
 * Rows with a usual name come from the index by key. Its order is nearly that of the names, but the name `a~<id>` of the
 * key `a` comes after the keys that begin with `a/`. Such a row belongs between keys that begin with its own, so:
 * - `upto`, the last name of the page, is chosen such that enough names come before it although some rows before it have
 *   names after it. Their keys are prefixes of `upto`.
 * - Rows of earlier keys can have names within the page. Their keys are prefixes of the place where the page starts.
 *
 * Other names and leftovers come from the indexes by name. A page reads at most a few rows of each index more than it
 * returns, and the rows with other names whose keys are between its names.
 *
 * The settings keep the plans of tables that were empty when they were made. Sorting a page is cheap, but with sorts
 * disabled its estimated cost would start a compilation.
 */
export const LIST_STORED = `
CREATE FUNCTION {schema}.list_stored_v1(p_bucket text, p_first text, p_last text, p_after text, p_limit int)
RETURNS TABLE (name text, object text, leftover text) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  start text := greatest(p_first COLLATE "C", p_after COLLATE "C");
  last text := p_last;
  upto text;
  found_name text;
  -- Usually the only row with a later name is the last one, or both rows of its key.
  wanted int := p_limit + 2;
  later int;
BEGIN
  SELECT o.storage_key INTO found_name FROM {schema}.objects o
  WHERE o.bucket = p_bucket AND ${hasOtherName('o')} AND ${inRange('o.storage_key')}
  ORDER BY o.storage_key OFFSET p_limit - 1 LIMIT 1;
  last := least(last COLLATE "C", found_name);
  SELECT ${nameOf('l')} INTO found_name FROM {schema}.leftovers l
  WHERE l.bucket = p_bucket AND ${inRange(nameOf('l'), 'last')}
  ORDER BY ${nameOf('l')} OFFSET p_limit - 1 LIMIT 1;
  last := least(last COLLATE "C", found_name);

  LOOP
    SELECT o.key INTO upto FROM {schema}.objects o
    WHERE o.bucket = p_bucket AND ${hasUsualName('o')} AND ${inRange('o.key', 'last')}
    ORDER BY o.key OFFSET wanted - 1 LIMIT 1;
    IF NOT FOUND THEN
      upto := last;
      EXIT;
    END IF;
    SELECT count(*) INTO later FROM {schema}.objects o
    WHERE o.bucket = p_bucket AND o.key = ANY (${prefixesOf('upto')}) AND o.status <> 'deleted'
      AND ${inRange('o.key', 'last')} AND o.storage_key > upto AND ${NAMED_AFTER_ATTEMPT};
    EXIT WHEN wanted - later >= p_limit;
    wanted := p_limit + 2 * later;
  END LOOP;

  RETURN QUERY
  SELECT n.name, n.object, n.leftover FROM (
    SELECT ${nameOf('o')} AS name, ${objectText('o')} AS object, NULL::text AS leftover FROM {schema}.objects o
    WHERE o.bucket = p_bucket AND ${hasUsualName('o')} AND ${inRange('o.key', 'upto')} AND ${nameOf('o')} <= upto
    UNION ALL
    SELECT o.storage_key, ${objectText('o')}, NULL FROM {schema}.objects o
    WHERE o.bucket = p_bucket AND o.key = ANY (${prefixesOf('start')}) AND o.status <> 'deleted'
      AND NOT (${inRange('o.key', 'upto')}) AND ${inRange('o.storage_key', 'upto')} AND ${NAMED_AFTER_ATTEMPT}
    UNION ALL
    SELECT o.storage_key, ${objectText('o')}, NULL FROM (
      SELECT o.* FROM {schema}.objects o
      WHERE o.bucket = p_bucket AND ${hasOtherName('o')} AND ${inRange('o.storage_key', 'upto')}
      ORDER BY o.storage_key FETCH FIRST (p_limit) ROWS WITH TIES
    ) o
    UNION ALL
    SELECT ${nameOf('l')}, NULL, ${leftoverText} FROM (
      SELECT l.* FROM {schema}.leftovers l
      WHERE l.bucket = p_bucket AND ${inRange(nameOf('l'), 'upto')}
      ORDER BY ${nameOf('l')} FETCH FIRST (p_limit) ROWS WITH TIES
    ) l
  ) n
  ORDER BY n.name COLLATE "C" FETCH FIRST (p_limit) ROWS WITH TIES;
END
$body$;
`
