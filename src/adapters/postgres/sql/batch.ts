import { ARGUMENTS, argumentIn, argumentsIn, batchColumns } from './arguments.js'
import { activateBy } from './confirm.js'
import { lockOf, tryLock, WRITABLE } from './fragments.js'
import { isMarked } from './marks.js'
import { hasTerms, insertAttempts, insertTerms, markedEnd } from './reserve.js'
import { objectText } from './rows.js'
import type { CompositeType } from './tables.js'
import { changeOf, charge, MAX_SUM, totalsOf, usageOf } from './usage.js'

/** A reserve or confirm of a batch; `place` is its index. An array of a type is parsed once, however often it is read. */
export const SCOPE_WRITE: CompositeType = {
  name: 'scope_write_v2',
  columns: `place int, kind text, ${batchColumns([...ARGUMENTS.reserve, ...ARGUMENTS.confirm])}`,
}

const argumentOf = (name: string) => argumentIn('w', name)

/** What a usual write adds: a reservation declares a size, and a confirm has one. */
const change = changeOf(usageOf(null, 'l.declared'), usageOf('w.size', 'w.declared_size'))

/**
 * Runs several writes of one scope in one transaction. Leaves out those whose key another transaction holds, without
 * waiting for it.
 *
 * The results equal those of running the writes one after the other. If the quota has room for all of them, their order
 * does not matter, and the common cases (a new key, or a confirm of the only row of its key) run together, with one
 * statement per table. All others run one by one, and if the quota is scarce, every write does.
 */
export const WRITE_BATCH = `
CREATE OR REPLACE FUNCTION {schema}.write_batch_v2(p_scope text, p_writes json)
RETURNS TABLE (place int, answer text) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  writes {schema}.${SCOPE_WRITE.name}[];
  one_by_one {schema}.${SCOPE_WRITE.name}[];
  new_keys {schema}.${SCOPE_WRITE.name}[];
  attempts {schema}.${SCOPE_WRITE.name}[];
  one {schema}.${SCOPE_WRITE.name};
  keys bigint;
  others text[];
  used_bytes bigint;
  used_files bigint;
  more_bytes bigint;
  more_files bigint;
  max_bytes bigint;
  max_files bigint;
  agreed boolean;
  change {schema}.scope_usage;
BEGIN${WRITABLE}
  SELECT pg_catalog.array_agg(w), count(DISTINCT ${lockOf('w.bucket', 'w.key')}) INTO writes, keys
  FROM pg_catalog.json_populate_recordset(NULL::{schema}.${SCOPE_WRITE.name}, p_writes) w
  WHERE ${tryLock('w.bucket', 'w.key')};
  IF writes IS NULL THEN
    RETURN;
  END IF;

  -- The locks keep these rows. With a subquery for each key, no plan of a small table turns into a scan.
  SELECT
    pg_catalog.array_agg(w) FILTER (WHERE m.usual AND w.kind = 'reserve'),
    pg_catalog.array_agg(w) FILTER (WHERE m.usual AND w.kind = 'confirm'),
    pg_catalog.array_agg(w) FILTER (WHERE NOT m.usual),
    pg_catalog.array_agg(l.lapsed_of) FILTER (WHERE l.lapsed_of IS NOT NULL),
    sum(m.more_bytes), count(*) FILTER (WHERE w.kind = 'reserve'),
    min(w.max_bytes) FILTER (WHERE m.more_bytes > 0), min(w.max_files) FILTER (WHERE w.kind = 'reserve'),
    bool_or(${hasTerms((name) => `w.${name}`)}), ${totalsOf(change, ' FILTER (WHERE m.usual)')}
  INTO new_keys, attempts, one_by_one, others, more_bytes, more_files, max_bytes, max_files, agreed,
    ${Object.keys(change)
      .map((sum) => `change.${sum}`)
      .join(', ')}
  FROM pg_catalog.unnest(writes) w
  CROSS JOIN LATERAL (
    SELECT count(*) AS rows,
      max(o.declared_size) FILTER (WHERE o.status = 'pending' AND o.id = w.id AND o.scope = p_scope) AS declared,
      bool_or(${isMarked('o')}) AS marked,
      max(o.scope) FILTER (WHERE o.status = 'pending' AND o.scope <> p_scope AND o.expires_at <= w.now) AS lapsed_of
    FROM {schema}.objects o WHERE o.bucket = w.bucket AND o.key = w.key AND o.status <> 'deleted'
  ) l
  CROSS JOIN LATERAL (
    SELECT CASE w.kind WHEN 'reserve' THEN l.rows = 0 ELSE l.rows = 1 AND l.declared IS NOT NULL AND NOT l.marked AND w.accept IS NOT TRUE END AS usual,
      -- An upper bound. A confirm without a pending row of this scope counts its whole size.
      CASE w.kind WHEN 'reserve' THEN w.declared_size ELSE greatest(0, w.size - coalesce(l.declared, 0)) END AS more_bytes
  ) m;

  -- Locks the usage rows, so their sums are final. A write that replaces an expired reservation of another scope changes
  -- two of them. Every transaction locks several in the order of their scopes.
  IF others IS NOT NULL THEN
    PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope = ANY (others || p_scope) ORDER BY u.scope FOR UPDATE;
  END IF;
  SELECT u.bytes + u.reserved_bytes, u.files + u.reserved_files INTO used_bytes, used_files
    FROM {schema}.scope_usage u WHERE u.scope = p_scope FOR UPDATE;

  IF NOT FOUND OR keys < pg_catalog.cardinality(writes)
    OR used_bytes + more_bytes > least(max_bytes, ${MAX_SUM}) OR used_files + more_files > max_files
  THEN
    -- The scope is new, a key occurs twice, or the quota has no room for all writes.
    one_by_one := writes;
  ELSE
    IF new_keys IS NOT NULL THEN${insertAttempts(argumentOf, markedEnd(argumentOf), 'FROM pg_catalog.unnest(new_keys) w')};
      IF agreed THEN${insertTerms(argumentOf, `FROM pg_catalog.unnest(new_keys) w WHERE ${hasTerms((name) => `w.${name}`)}`)};
      END IF;
      RETURN QUERY SELECT w.place, '{"outcome":"reserved"}' FROM pg_catalog.unnest(new_keys) w;
    END IF;
    IF attempts IS NOT NULL THEN
      RETURN QUERY
      UPDATE {schema}.objects o SET${activateBy((argument) => `w.${argument}`)}
      FROM pg_catalog.unnest(attempts) w WHERE o.attempt_id = w.id
      RETURNING w.place, '{"outcome":"confirmed","object":' || ${objectText('o')} || '}';
    END IF;${charge('p_scope', Object.fromEntries(Object.keys(change).map((sum) => [sum, `change.${sum}`])))}
  END IF;

  IF one_by_one IS NOT NULL THEN
    FOREACH one IN ARRAY one_by_one LOOP
      place := one.place;
      IF one.kind = 'reserve' THEN
        answer := {schema}.reserve_v2(
          ${argumentsIn('one', ARGUMENTS.reserve)});
      ELSE
        answer := {schema}.confirm_v2(
          ${argumentsIn('one', ARGUMENTS.confirm)});
      END IF;
      RETURN NEXT;
    END LOOP;
  END IF;
END
$body$;
COMMENT ON FUNCTION {schema}.write_batch_v2 IS 'Makes several reservations and confirms of one scope.';
`
