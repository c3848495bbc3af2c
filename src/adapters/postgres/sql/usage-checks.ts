import type { ScopeUsage, UsageDifference } from '../../../core/store/records.js'
import { sameUsage } from '../../../core/store/lifecycle/usage.js'
import type { Statement, TextRow } from '../connection/database.js'
import { type SchemaName, versionedStatement } from './statement.js'
import { readNumber } from './rows.js'
import { counted, sumColumns, SUMS } from './usage.js'

/** Statements that compare the counters with the rows and correct them. */
export type UsageStatements = ReturnType<typeof usageStatements>

export function usageStatements(schema: SchemaName) {
  const named = (name: string, text: string): Statement => versionedStatement(name, text, schema)

  /**
   * Reads rows and counters in one snapshot. Each write changes both in one transaction, so they agree at any moment.
   */
  const differences = (rows: string, usage: string) => `
    WITH counted AS (${counted(rows)}
    )
    SELECT coalesce(c.scope, u.scope), ${sumColumns('u')}, ${sumColumns('c')}
    FROM counted c FULL JOIN (SELECT * FROM {schema}.scope_usage u ${usage}) u ON u.scope = c.scope
    WHERE (${sumColumns('u')}) <> (${sumColumns('c')})
    ORDER BY 1`

  return {
    check: named('check_usage', differences('', '')),
    checkScope: named('check_usage_of_scope', differences('WHERE o.scope = $1', 'WHERE u.scope = $1')),
    repairScope: named(
      'repair_usage_v1',
      `SELECT $1::text, ${sumColumns('(r.recorded)')}, ${sumColumns('(r.actual)')} FROM {schema}.repair_usage_v1($1::text) r`,
    ),
  }
}

/** Returns the scopes whose usage differs. A difference in the counters of `countByScope` alone is not reported. */
export function readDifferences(rows: readonly TextRow[]): UsageDifference[] {
  return rows
    .map((row) => ({ scope: row[0]!, recorded: readUsage(row, 1), actual: readUsage(row, 1 + SUMS.length) }))
    .filter(({ recorded, actual }) => !sameUsage(recorded, actual))
}

/** Reads the usage whose columns start at this index. */
export function readUsage(row: TextRow, from: number): ScopeUsage {
  return {
    bytes: readNumber(row[from]),
    files: readNumber(row[from + 1]),
    reservedBytes: readNumber(row[from + 2]),
    reservedFiles: readNumber(row[from + 3]),
  }
}
