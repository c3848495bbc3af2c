import type { ScopeSummary, ScopeUsage, UsageDifference } from '../../../core/store/records.js'
import { sameUsage } from '../../../core/store/lifecycle/usage.js'
import type { TextRow } from '../connection/database.js'
import { readNumber } from './rows.js'
import { SUMS } from './tables.js'
import { counted, sumColumns } from './usage.js'

/** Rows from which on a page ends with its scope, because the database may cancel long statements. */
const PAGE_ROWS = 10_000

/** Joins counters and rows of one snapshot. Each write changes both in one transaction, so they agree at any moment. */
const joined = (range: (scope: string) => string) => `
  (${counted(`WHERE ${range('o.scope')}`)}
  ) c FULL JOIN (SELECT u.* FROM {schema}.scope_usage u WHERE ${range('u.scope')}) u ON u.scope = c.scope`
const compared = `coalesce(c.scope, u.scope), ${sumColumns('u')}, ${sumColumns('c')}`
const differ = `(${sumColumns('u')}) <> (${sumColumns('c')})`

const nextScope = (table: string) =>
  `(SELECT s.scope FROM {schema}.${table} s WHERE s.scope > $1 ORDER BY s.scope LIMIT 1 OFFSET ${PAGE_ROWS})`
const lastScope = (table: string) => `(SELECT max(s.scope) FROM {schema}.${table} s WHERE s.scope > $1)`

export const USAGE_CHECKS = {
  /** Compares the scopes after one. Each row begins with the last of these scopes, which is `NULL` if there is none. */
  check: `WITH page AS (
       SELECT coalesce(
         least(${nextScope('objects')}, ${nextScope('scope_usage')}),
         greatest(${lastScope('objects')}, ${lastScope('scope_usage')})
       ) AS upto
     )
     SELECT p.upto, ${compared}
     FROM page p LEFT JOIN (${joined((scope) => `${scope} > $1 AND ${scope} <= (SELECT p.upto FROM page p)`)}
     ) ON ${differ} ORDER BY 2`,
  checkScope: `SELECT ${compared} FROM ${joined((scope) => `${scope} = $1`)} WHERE ${differ}`,
  repairScope: `SELECT $1::text, ${sumColumns('(r.recorded)')}, ${sumColumns('(r.actual)')} FROM {schema}.repair_usage_v1($1::text) r`,
}

/** Returns the scopes whose usage differs. A difference in the counters of `countByScope` alone is not reported. */
export function readDifferences(rows: readonly TextRow[]): UsageDifference[] {
  return rows
    .map((row) => ({ scope: row[0]!, recorded: readUsage(row, 1), actual: readUsage(row, 1 + SUMS.length) }))
    .filter(({ recorded, actual }) => !sameUsage(recorded, actual))
}

export function readUsage(row: TextRow, from: number): ScopeUsage {
  return {
    bytes: readNumber(row[from]),
    files: readNumber(row[from + 1]),
    reservedBytes: readNumber(row[from + 2]),
    reservedFiles: readNumber(row[from + 3]),
  }
}

export function readCounts(row: TextRow, from: number): ScopeSummary['counts'] {
  const [active, pending, deleted] = [row[from + 1], row[from + 4], row[from + 5]].map(readNumber)
  return { active: active!, pending: pending!, deleted: deleted! }
}
