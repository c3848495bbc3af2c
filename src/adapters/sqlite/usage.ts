import { NO_USAGE, sameUsage } from '../../core/store/lifecycle/usage.js'
import type { ObjectStatus, ScopeSummary, ScopeUsage, UsageDifference } from '../../core/store/records.js'
import type { Connection } from './connection/connection.js'
import type { Cells } from './connection/statement.js'

/** The usage of a scope, and its numbers of pending and deleted rows. `files` is that of its active rows. */
export interface Counters extends ScopeUsage {
  readonly pending: number
  readonly deleted: number
}

export const NO_ROWS: Counters = { ...NO_USAGE, pending: 0, deleted: 0 }

const USAGE = 'bytes, files, reserved_bytes, reserved_files'
export const COUNTERS = `${USAGE}, pending, deleted`

function readUsage([bytes, files, reservedBytes, reservedFiles]: Cells): ScopeUsage {
  return { bytes, files, reservedBytes, reservedFiles } as ScopeUsage
}

export function readCounters(cells: Cells): Counters {
  const [, , , , pending, deleted] = cells as readonly number[]
  return { ...readUsage(cells), pending: pending!, deleted: deleted! }
}

/** Reads the columns `scope` and {@link COUNTERS}. */
export function readSummary([scope, ...cells]: Cells): ScopeSummary {
  const { pending, deleted, ...usage } = readCounters(cells)
  return { scope: scope as string, usage, counts: { pending, active: usage.files, deleted } }
}

/** Adds up the rows of a scope. A pending row reserves what it has or declared beyond the size of the row it replaces. */
const RECOUNT = `
  SELECT coalesce(sum(size) FILTER (WHERE status = 'active'), 0) AS bytes,
    count(*) FILTER (WHERE status = 'active') AS files,
    coalesce(sum(max(0, coalesce(size, declared_size) - coalesce(replaced, 0))) FILTER (WHERE status = 'pending'), 0) AS reserved_bytes,
    count(*) FILTER (WHERE status = 'pending' AND replaced IS NULL) AS reserved_files,
    count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'deleted') AS deleted
  FROM (
    SELECT status, size, declared_size, CASE status WHEN 'pending' THEN (
      SELECT a.size FROM {objects} a INDEXED BY {objects_live}
      WHERE a.bucket = o.bucket AND a.key = o.key AND a.status = 'active' AND a.deleted_at IS NULL
    ) END AS replaced
    FROM {objects} o INDEXED BY {objects_by_scope} WHERE scope = :scope
  )`

const NEXT_SCOPE = `
  SELECT min(scope) AS scope FROM (
    SELECT min(scope) AS scope FROM {scope_usage} WHERE scope > :after
    UNION ALL SELECT min(scope) FROM {objects} INDEXED BY {objects_by_scope} WHERE scope > :after
  )`

export function usageOfScopes(connection: Connection) {
  const findUsage = connection.statement(`SELECT ${USAGE} FROM {scope_usage} WHERE scope = :scope`)
  const find = connection.statement(`SELECT ${COUNTERS} FROM {scope_usage} WHERE scope = :scope`)
  const create = connection.statement(
    `INSERT INTO {scope_usage} (scope, ${COUNTERS})
      VALUES (:scope, :bytes, :files, :reservedBytes, :reservedFiles, :pending, :deleted)`,
  )
  const grow = connection.statement(
    `UPDATE {scope_usage} SET bytes = bytes + :bytes, files = files + :files, reserved_bytes = reserved_bytes + :reservedBytes,
      reserved_files = reserved_files + :reservedFiles, pending = pending + :pending, deleted = deleted + :deleted WHERE scope = :scope`,
  )
  const drop = connection.statement('DELETE FROM {scope_usage} WHERE scope = :scope')
  const recount = connection.statement(RECOUNT)
  const next = connection.statement(NEXT_SCOPE)

  const usage = (scope: string): ScopeUsage => {
    const cells = findUsage.first({ scope })
    return cells ? readUsage(cells) : { ...NO_USAGE }
  }

  /** Adds to the counters of a scope. */
  function add(scope: string, growth: Counters): void {
    const { bytes, files, reservedBytes, reservedFiles, pending, deleted } = growth
    const values = { scope, bytes, files, reservedBytes, reservedFiles, pending, deleted }
    // Nearly every scope has counters already.
    if (grow.run(values) === 0) create.run(values)
  }

  const counters = (scope: string): Counters => {
    const cells = find.first({ scope })
    return cells ? readCounters(cells) : NO_ROWS
  }

  function difference(scope: string, actual: ScopeUsage): UsageDifference[] {
    const recorded = usage(scope)
    return sameUsage(recorded, actual) ? [] : [{ scope, recorded, actual }]
  }

  function compare(scope: string): UsageDifference[] {
    const { pending: _, deleted: __, ...actual } = readCounters(recount.first({ scope })!)
    return difference(scope, actual)
  }

  function correct(scope: string): UsageDifference[] {
    const counted = readCounters(recount.first({ scope })!)
    const { pending: _, deleted: __, ...actual } = counted
    const found = difference(scope, actual)
    drop.run({ scope })
    create.run({ scope, ...counted })
    return found
  }

  async function* scopes(): AsyncGenerator<string, void> {
    const nextAfter = (after: string) => connection.read(() => next.first({ after })?.[0])
    for (let after = ''; ;) {
      const scope = await nextAfter(after)
      if (typeof scope !== 'string') return
      yield scope
      after = scope
    }
  }

  /** Each scope is compared or corrected in one transaction. */
  async function ofEach(
    only: string | null,
    act: (scope: string) => Promise<UsageDifference[]>,
  ): Promise<UsageDifference[]> {
    if (only !== null) return act(only)
    const found: UsageDifference[] = []
    for await (const scope of scopes()) found.push(...(await act(scope)))
    return found
  }

  return {
    usage,
    count(scope: string, statuses: readonly ObjectStatus[]): number {
      const { files: active, pending, deleted } = counters(scope)
      const counts = { active, pending, deleted }
      return statuses.reduce((sum, status) => sum + counts[status], 0)
    },
    add,
    check: (only: string | null) => ofEach(only, (scope) => connection.readTogether(() => compare(scope))),
    repair: (only: string | null) => ofEach(only, (scope) => connection.write(() => correct(scope))),
  }
}

export type ScopeUsages = ReturnType<typeof usageOfScopes>
