import { NO_USAGE, sameUsage, type ScopeUsage, type UsageDifference } from '@svc/db/adapter'
import type { Connection } from './connection.ts'

/** The usage of a scope, and its numbers of pending and deleted rows. `files` is that of its active rows. */
export type Counters = ScopeUsage & { readonly pending: number; readonly deleted: number }

export const SCOPE = 'scope, bytes, files, reservedBytes, reservedFiles, pending, deleted'
export const NO_ROWS: Counters = { ...NO_USAGE, pending: 0, deleted: 0 }

export function usageIn({ bytes, files, reservedBytes, reservedFiles }: Counters): ScopeUsage {
  return { bytes, files, reservedBytes, reservedFiles }
}

export function countersOf(connection: Connection, scope: string | null): Counters {
  return connection.get(`SELECT ${SCOPE} FROM scopes WHERE scope = :scope`, { scope }) ?? NO_ROWS
}

/** Adds to the counters of a scope. */
export function addToScope(connection: Connection, scope: string, growth: Counters): void {
  connection.run(
    `INSERT INTO scopes (${SCOPE})
    VALUES (:scope, :bytes, :files, :reservedBytes, :reservedFiles, :pending, :deleted)
    ON CONFLICT (scope) DO UPDATE SET bytes = bytes + excluded.bytes, files = files + excluded.files,
      reservedBytes = reservedBytes + excluded.reservedBytes, reservedFiles = reservedFiles + excluded.reservedFiles,
      pending = pending + excluded.pending, deleted = deleted + excluded.deleted`,
    { scope, ...growth },
  )
}

/** Adds up the rows of a scope. A pending row reserves what it declared beyond the size of the row it replaces. */
const RECOUNT = `
  SELECT coalesce(sum(size) FILTER (WHERE status = 'active'), 0) AS bytes,
    count(*) FILTER (WHERE status = 'active') AS files,
    coalesce(sum(max(0, declaredSize - coalesce(replaced, 0))), 0) AS reservedBytes,
    count(*) FILTER (WHERE status = 'pending' AND replaced IS NULL) AS reservedFiles,
    count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'deleted') AS deleted
  FROM (
    SELECT status, size, declaredSize, CASE status WHEN 'pending' THEN (
      SELECT a.size FROM objects a WHERE a.bucket = o.bucket AND a.key = o.key AND a.status = 'active'
    ) END AS replaced
    FROM objects o WHERE scope = :scope
  )`

/** Compares counters with rows. One transaction per scope, so that other writers can work in between. */
export function recount(connection: Connection, only: string | null, correct: boolean): UsageDifference[] {
  const differences: UsageDifference[] = []
  const recountScope = (scope: string) => {
    const rows = connection.get<Counters>(RECOUNT, { scope }) ?? NO_ROWS
    const [recorded, actual] = [usageIn(countersOf(connection, scope)), usageIn(rows)]
    if (!sameUsage(recorded, actual)) differences.push({ scope, recorded, actual })
    if (!correct) return
    connection.run('DELETE FROM scopes WHERE scope = :scope', { scope })
    addToScope(connection, scope, rows)
  }
  const all = 'SELECT scope FROM scopes UNION SELECT scope FROM objects'
  for (const { scope } of only === null ? connection.all<{ scope: string }>(all) : [{ scope: only }]) {
    connection[correct ? 'write' : 'read'](() => recountScope(scope))
  }
  return differences
}
