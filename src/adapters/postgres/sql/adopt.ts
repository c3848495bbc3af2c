import { ARGUMENTS, argumentsIn, batchColumns, parameters } from './arguments.js'
import {
  INDEX_PLANS,
  leaveBehind,
  LIVE_ROWS,
  lockOf,
  READ_LIVE_ROWS,
  tryLock,
  WRITABLE,
} from './fragments.js'
import { hasArrived, readEnd } from './marks.js'
import { attemptIdIn, hasOtherName, nameOf } from './names.js'
import { objectText } from './rows.js'
import {
  changeOf,
  charge,
  lockUsage,
  lockUsageRow,
  NOTHING,
  OWNERS,
  refusalText,
  refuse,
  USAGE,
  usageOf,
} from './usage.js'

const MORE = { bytes: 'more_bytes', files: '0' }

const COLUMNS = ARGUMENTS.adopt.map(({ name }) => name).filter((name) => name !== 'now')

/**
 * Implements `planAdopt` of core/store/lifecycle/plans.ts. Returns a `WriteResult`.
 *
 * It locks the storage key like a key of that name: no other adoption of the same bytes, and no write of that key, runs
 * beside it. Rows are read before leftovers: a row that ends meanwhile becomes one.
 */
export const ADOPT = `
CREATE OR REPLACE FUNCTION {schema}.adopt_v1(
  ${parameters(ARGUMENTS.adopt)}
) RETURNS text LANGUAGE plpgsql VOLATILE
${INDEX_PLANS} AS $body$
#variable_conflict use_column
DECLARE${LIVE_ROWS}${USAGE}${OWNERS}
  own {schema}.objects;
  known {schema}.objects;
  named uuid;
  receives boolean;
  known_end timestamptz;
  a_end timestamptz;
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
  IF known.id IS NOT NULL THEN${readEnd('known', 'known_end')}
    RETURN '{"outcome":"' || CASE WHEN known.id = p_id THEN 'adopted' ELSE 'known' END || '","object":' ||
      ${objectText('known', 'known_end')} || '}';
  END IF;
  IF EXISTS (SELECT FROM {schema}.leftovers l WHERE l.bucket = p_bucket AND ${nameOf('l')} = p_storage_key) THEN
    RETURN '{"outcome":"known"}';
  END IF;
${READ_LIVE_ROWS}
  receives := a.id IS NOT NULL AND a.storage_key IS NULL AND a.scope = p_scope;
  IF (a.id IS NOT NULL AND NOT receives) OR p.expires_at > p_now OR ${hasArrived('p')} THEN
    RETURN '{"outcome":"key-conflict"}';
  END IF;

  IF p.scope = p_scope THEN own := p; END IF;
  IF NOT receives OR p.id IS NOT NULL THEN${lockUsage('p_scope', 'coalesce(p.scope, p_scope)')}
    more_bytes := coalesce(a.size, p_size) - greatest(own.declared_size, coalesce(a.size, 0));
    ${refuse(MORE, { bytes: 'NULL', files: 'NULL' })}
    IF refused IS NOT NULL THEN
      RETURN ${refusalText(MORE)};
    END IF;
  END IF;

  IF p.id IS NOT NULL THEN
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;${leaveBehind('p')}
  END IF;
  IF receives THEN${readEnd('a', 'a_end')}
    UPDATE {schema}.objects o SET storage_key = p_storage_key, updated_at = p_now WHERE o.attempt_id = a.attempt_id
    RETURNING ${objectText('o', 'a_end')} INTO answer;
  ELSE
    INSERT INTO {schema}.objects AS o (
      ${COLUMNS.join(', ')},
      attempt_id, status, updated_at, confirmed_at, writable_until)
    VALUES (
      ${COLUMNS.map((column) => `p_${column}`).join(', ')},
      p_id, 'active', p_now, p_now, p_now)
    RETURNING ${objectText('o')} INTO answer;
  END IF;
  IF NOT receives OR own.id IS NOT NULL THEN${charge(
    'p_scope',
    changeOf(usageOf('a.size', 'own.declared_size'), usageOf('coalesce(a.size, p_size)', null)),
  )}
  END IF;
  IF p.scope <> p_scope THEN${charge('p.scope', changeOf(usageOf('a.size', 'p.declared_size'), NOTHING))}
    RETURN '{"outcome":"adopted","object":' || answer || ',"otherScope":' || pg_catalog.to_json(p.scope)::text || '}';
  END IF;
  RETURN '{"outcome":"adopted","object":' || answer || '}';
END
$body$;
COMMENT ON FUNCTION {schema}.adopt_v1 IS 'Records bytes that are in the bucket already as an object.';
`

/**
 * Runs several adoptions of one scope, which change the same usage row, in one transaction. Leaves out those whose key
 * or bytes another transaction holds, without waiting for it.
 *
 * It takes all locks first, in the order of all writes: keys and names, then usage rows. An adoption changes that of
 * another scope too if it replaces an expired reservation.
 */
export const ADOPT_BATCH = `
CREATE OR REPLACE FUNCTION {schema}.adopt_batch_v1(p_scope text, p_adoptions json)
RETURNS TABLE (place int, answer text) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  adoptions json;
  owner text;
  usage {schema}.scope_usage;
  one record;
BEGIN${WRITABLE}
  SELECT pg_catalog.json_agg(w.value) INTO adoptions FROM pg_catalog.json_array_elements(p_adoptions) w
  WHERE ${tryLock("(w.value->>'bucket')", "(w.value->>'key')")}
    AND ${tryLock("(w.value->>'bucket')", "(w.value->>'storage_key')")};
  IF adoptions IS NULL THEN
    RETURN;
  END IF;

  FOR owner IN
    SELECT p_scope COLLATE "C" AS scope
    UNION
    SELECT l.scope FROM pg_catalog.json_to_recordset(adoptions) AS w(bucket text, key text)
    -- Each key has its own subquery, which a plan made while the table is small can't turn into a scan.
    CROSS JOIN LATERAL (
      SELECT max(o.scope) FILTER (WHERE o.status = 'pending') AS scope
      FROM {schema}.objects o WHERE o.bucket = w.bucket AND o.key = w.key AND o.status <> 'deleted'
    ) l
    WHERE l.scope IS NOT NULL
    ORDER BY 1
  LOOP${lockUsageRow('owner', 'usage')}
  END LOOP;

  FOR one IN
    SELECT w.* FROM pg_catalog.json_to_recordset(adoptions) AS w(
      place int, ${batchColumns(ARGUMENTS.adopt)})
    ORDER BY w.place
  LOOP
    place := one.place;
    answer := {schema}.adopt_v1(
      ${argumentsIn('one', ARGUMENTS.adopt)});
    RETURN NEXT;
  END LOOP;
END
$body$;
COMMENT ON FUNCTION {schema}.adopt_batch_v1 IS 'Makes several adoptions of one scope.';
`
