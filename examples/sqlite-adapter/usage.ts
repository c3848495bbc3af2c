import { NO_USAGE, sameUsage, type ScopeUsage, type UsageDifference } from '@svc/db/adapter'
import type { Connection } from './connection.ts'

/** The counters of a scope. `files` is also the number of its active rows. */
export interface ScopeRow extends ScopeUsage {
  readonly scope: string
  /** The number of pending rows. */
  readonly pending: number
  /** The number of deleted rows. */
  readonly deleted: number
}

type Counters = Omit<ScopeRow, 'scope'>

export const SCOPE = 'scope, bytes, files, reservedBytes, reservedFiles, pending, deleted'
const NO_COUNTERS: Counters = { ...NO_USAGE, pending: 0, deleted: 0 }

/** Returns the counters of a scope without those that are not usage. */
export function usageIn({ bytes, files, reservedBytes, reservedFiles }: Counters): ScopeUsage {
  return { bytes, files, reservedBytes, reservedFiles }
}

export function countersOf(connection: Connection, scope: string): Counters {
  return (
    connection.get<ScopeRow>(`SELECT ${SCOPE} FROM scopes WHERE scope = :scope`, { scope }) ?? NO_COUNTERS
  )
}

export function usageOfScope(connection: Connection, scope: string): ScopeUsage {
  return usageIn(countersOf(connection, scope))
}

/** Adds to the counters of a scope. Deletes a row of zeros, so a scope that was erased is not listed. */
export function addToScope(connection: Connection, scope: string, growth: Counters): void {
  connection.run(
    `INSERT INTO scopes (${SCOPE})
    VALUES (:scope, :bytes, :files, :reservedBytes, :reservedFiles, :pending, :deleted)
    ON CONFLICT (scope) DO UPDATE SET bytes = bytes + excluded.bytes, files = files + excluded.files,
      reservedBytes = reservedBytes + excluded.reservedBytes, reservedFiles = reservedFiles + excluded.reservedFiles,
      pending = pending + excluded.pending, deleted = deleted + excluded.deleted`,
    { scope, ...growth },
  )
  connection.run(
    `DELETE FROM scopes WHERE scope = :scope AND (bytes, files, reservedBytes, reservedFiles, pending, deleted)
      = (0, 0, 0, 0, 0, 0)`,
    { scope },
  )
}

/** Adds up the rows of a scope. Only active rows count their size; a pending one counts by how much it exceeds that. */
const RECOUNT = `
  SELECT coalesce(sum(size) FILTER (WHERE status = 'active'), 0) AS bytes,
    count(*) FILTER (WHERE status = 'active') AS files,
    coalesce(sum(max(0, declaredSize - coalesce(replaced, 0))), 0) AS reservedBytes,
    count(*) FILTER (WHERE status = 'pending' AND replaced IS NULL) AS reservedFiles,
    count(*) FILTER (WHERE status = 'pending') AS pending,
    count(*) FILTER (WHERE status = 'deleted') AS deleted
  FROM (
    SELECT status, size, declaredSize, CASE status WHEN 'pending' THEN (
      SELECT a.size FROM objects a WHERE a.bucket = o.bucket AND a.key = o.key AND a.status = 'active'
    ) END AS replaced
    FROM objects o WHERE scope = :scope
  )`

const NEXT_SCOPE = `
  SELECT min(scope) AS scope FROM (
    SELECT (SELECT min(scope) FROM scopes WHERE scope > :after) AS scope
    UNION ALL SELECT (SELECT min(scope) FROM objects WHERE scope > :after)
  )`

/** Compares counters with rows, one scope at a time, so that writers wait for one scope at most. */
export function recount(connection: Connection, only: string | null, correct: boolean): UsageDifference[] {
  const differences: UsageDifference[] = []
  for (const scope of only === null ? allScopes(connection) : [only]) {
    const compare = () => {
      const counters = countersOf(connection, scope)
      const rows = connection.get<Counters>(RECOUNT, { scope }) ?? NO_COUNTERS
      const [recorded, actual] = [usageIn(counters), usageIn(rows)]
      if (!sameUsage(recorded, actual)) differences.push({ scope, recorded, actual })
      if (!correct) return
      connection.run('DELETE FROM scopes WHERE scope = :scope', { scope })
      addToScope(connection, scope, rows)
    }
    if (correct) connection.write(compare)
    else connection.read(compare)
  }
  return differences
}

function* allScopes(connection: Connection): Generator<string> {
  for (let after = ''; ;) {
    const next = connection.get<{ scope: string | null }>(NEXT_SCOPE, { after })?.scope
    if (next == null) return
    yield next
    after = next
  }
}
