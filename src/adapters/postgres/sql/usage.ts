import { WRITABLE } from './fragments.js'
import { SUMS } from './tables.js'

type Sum = (typeof SUMS)[number]

/** An SQL expression for each sum. One that is left out is 0. */
export type Sums = Readonly<Partial<Record<Sum, string>>>

/**
 * Returns what a key adds to the sums of its scope, like `usageOfKey` of core/store/lifecycle/usage.ts: an object of
 * `size` bytes and an upload that declared `declared`, either `NULL` or `null` if there is none.
 */
export function usageOf(size: string | null, declared: string | null): Sums {
  const active: Sums =
    size === null ? {} : { bytes: `coalesce(${size}, 0)`, files: `(${size} IS NOT NULL)::int` }
  if (declared === null) return active
  return {
    ...active,
    // greatest() ignores NULL, so without an upload this is 0.
    reserved_bytes: `greatest(0, ${declared}${size === null ? '' : ` - coalesce(${size}, 0)`})`,
    reserved_files: `(${declared} IS NOT NULL${size === null ? '' : ` AND ${size} IS NULL`})::int`,
    pending_rows: `(${declared} IS NOT NULL)::int`,
  }
}

/** The bytes that a pending row reserves: those that it declared or, once they have arrived, their true number. */
export const reservedBy = (row: string) => `coalesce(${row}.size, ${row}.declared_size)`

export const NOTHING: Sums = {}

/** Returns what a write adds to the sums if a key added `before` and adds `after`. */
export function changeOf(before: Sums, after: Sums): Sums {
  const differing = SUMS.filter((sum) => before[sum] !== after[sum])
  const difference = (sum: Sum) =>
    before[sum] === undefined ? after[sum]! : `${after[sum] ?? ''}-${before[sum]}`
  return Object.fromEntries(differing.map((sum) => [sum, difference(sum)]))
}

/**
 * Adds a change to the sums of a scope, which it locks. Others wait, so it is the last statement of a write.
 *
 * The index leads to all versions of the row that an old snapshot keeps. So if this transaction has seen the `place` of the newest
 * one, that is tried first. Once others have changed the row, it is not found there.
 */
export const charge = (
  scope: string,
  change: Sums,
  { condition = '', place = null }: { condition?: string; place?: string | null } = {},
) => {
  const update = (at: string) => `
  UPDATE {schema}.scope_usage u SET
    ${namesIn(change)
      .map((sum) => `${sum} = u.${sum} + ${change[sum]}`)
      .join(',\n    ')}
  WHERE ${at}u.scope = ${scope}${condition};`
  if (place === null) return update('')
  return `${update(`u.ctid = ${place} AND `)}
  IF NOT FOUND THEN${update('')}
  END IF;`
}

/** Adds a change for each row of `from` to the sums of its `scope`. Unlike an UPDATE, an upsert locks rows in order. */
export const chargeScopes = (change: Sums, { scope, from }: Readonly<Record<'scope' | 'from', string>>) => `
    INSERT INTO {schema}.scope_usage AS u (scope, ${namesIn(change).join(', ')})
    SELECT ${scope}, ${totalsOf(change)} ${from} GROUP BY ${scope} ORDER BY ${scope}
    ON CONFLICT (scope) DO UPDATE SET
      ${namesIn(change)
        .map((sum) => `${sum} = u.${sum} + excluded.${sum}`)
        .join(', ')}`

export const totalsOf = (sums: Sums, condition = '') =>
  namesIn(sums)
    .map((sum) => `coalesce(sum(${sums[sum]})${condition}, 0)::bigint AS ${sum}`)
    .join(', ')

const namesIn = (sums: Sums) => SUMS.filter((sum) => sums[sum] !== undefined)

/** The columns of a row of `scope_usage`, 0 for a row that is missing. */
export const sumColumns = (row: string) => SUMS.map((sum) => `coalesce(${row}.${sum}, 0)`).join(', ')

export const MAX_SUM = String(Number.MAX_SAFE_INTEGER)

/** Variables of {@link lockUsage}, {@link refuse} and {@link refusalText}. */
export const USAGE = `
  usage {schema}.scope_usage;
  refused text;`

/**
 * Locks the usage rows of two scopes, which may be the same, in their order, and reads that of `growing` into `usage`.
 * Its sums are then final. A missing row is inserted in its turn, because that waits for others who insert it.
 */
export const lockUsage = (growing: string, other: string) => `
  FOREACH owner IN ARRAY CASE WHEN ${growing} = ${other} THEN ARRAY[${growing}] ELSE ARRAY[
    least(${growing} COLLATE "C", ${other} COLLATE "C"), greatest(${growing} COLLATE "C", ${other} COLLATE "C")] END
  LOOP${lockUsageRow('owner', 'one')}
    IF owner = ${growing} THEN usage := one; END IF;
  END LOOP;`

export const OWNERS = `
  owner text;
  one {schema}.scope_usage;`

export const lockUsageRow = (scope: string, into: string) => `
    LOOP
      SELECT u.* INTO ${into} FROM {schema}.scope_usage u WHERE u.scope = ${scope} FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO {schema}.scope_usage (scope) VALUES (${scope}) ON CONFLICT (scope) DO NOTHING;
    END LOOP;`

type PerLimit = Readonly<Record<'bytes' | 'files', string>>

/** Sets `refused` to the limit that the growth of the scope would exceed, or to NULL. */
export const refuse = (more: PerLimit, max: PerLimit) => `refused := {schema}.refusal_v1(
      coalesce(usage.bytes + usage.reserved_bytes, 0), ${more.bytes}, ${max.bytes},
      coalesce(usage.files + usage.reserved_files, 0), ${more.files}, ${max.files});`

export const refusalText = (more: PerLimit) => {
  const ofLimit = (bytes: string, files: string) =>
    `coalesce(CASE refused WHEN 'maxFiles' THEN ${files} ELSE ${bytes} END, 0)::text`
  return `pg_catalog.json_build_object('outcome', refused,
        'used', ${ofLimit('usage.bytes + usage.reserved_bytes', 'usage.files + usage.reserved_files')},
        'reserved', ${ofLimit('usage.reserved_bytes', 'usage.reserved_files')},
        'requested', ${ofLimit(more.bytes, more.files)})::text`
}

export const REFUSAL = `
-- Implements refuseGrowth() of core/store/lifecycle/usage.ts.
CREATE OR REPLACE FUNCTION {schema}.refusal_v1(
  p_used_bytes bigint, p_more_bytes bigint, p_max_bytes bigint, p_used_files bigint, p_more_files bigint, p_max_files bigint
) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE
    WHEN p_more_bytes > 0 AND p_used_bytes + p_more_bytes > p_max_bytes THEN 'maxBytes'
    WHEN p_more_files > 0 AND p_used_files + p_more_files > p_max_files THEN 'maxFiles'
    WHEN p_used_bytes + p_more_bytes > ${MAX_SUM} THEN 'sum'
  END
$body$;
COMMENT ON FUNCTION {schema}.refusal_v1 IS 'Returns the limit that a change would exceed, or NULL.';
`

/** Counts the rows of each scope. `condition` selects them. */
export const counted = (condition: string) => `
    SELECT o.scope, ${totalsOf(usageOf('o.size', null), ` FILTER (WHERE o.status = 'active')`)},
      ${totalsOf(changeOf(usageOf('a.size', null), usageOf('a.size', reservedBy('o'))), ` FILTER (WHERE o.status = 'pending')`)},
      count(*) FILTER (WHERE o.status = 'deleted') AS deleted_rows
    FROM {schema}.objects o
    -- A key that is NULL finds nothing. With a condition beside the key, each active row would be looked up as well.
    LEFT JOIN {schema}.objects a
      ON a.bucket = o.bucket AND a.key = CASE o.status WHEN 'pending' THEN o.key END AND a.status = 'active'
    ${condition} GROUP BY o.scope`

/**
 * Recounts one scope. Writes change their rows first and the usage row last, so while this function holds it, it sees
 * all rows of writes that have changed it, and later writes add to the corrected sums.
 */
export const REPAIR_USAGE = `
CREATE OR REPLACE FUNCTION {schema}.repair_usage_v1(
  p_scope text, OUT recorded {schema}.scope_usage, OUT actual {schema}.scope_usage
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
BEGIN${WRITABLE}${lockUsageRow('p_scope', 'recorded')}
  WITH counted AS (${counted('WHERE o.scope = p_scope')}
  )
  UPDATE {schema}.scope_usage u SET
    ${SUMS.map((sum) => `${sum} = coalesce(c.${sum}, 0)`).join(', ')}
  FROM (SELECT) one LEFT JOIN counted c ON true WHERE u.scope = p_scope RETURNING u.* INTO actual;
END
$body$;
COMMENT ON FUNCTION {schema}.repair_usage_v1 IS 'Corrects the sums of a scope.';
`
