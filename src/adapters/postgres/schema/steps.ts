import { STEP_1 } from './step-1/index.js'

/**
 * One step from a schema version to the next. A released step is frozen: a database that has run it never runs it
 * again, so a later step has to correct its mistakes. Function bodies are frozen byte for byte, comments included,
 * because `verify()` compares them.
 *
 * **Two versions of the library share a schema** during a rolling deployment, and for as long as the application likes.
 * Functions therefore carry a version in their name (`reserve_v1`), which fixes their arguments and results, not their
 * body:
 * - If a write must do more, such as fill a new column, the step adds a `_v2` and also replaces the body of the older
 *   function, so older processes fill the column as well.
 * - Columns and indexes are added. They are not renamed or dropped while `minCompatible` admits a version that reads
 *   them.
 * - A step that can't follow these rules raises `minCompatible`, renames the tables that older versions read and drops
 *   the functions that they call. Each call of an older process then fails with an "undefined" error, which the process
 *   reports as an outdated schema. No call has to read the version first.
 *
 * Code of a newer version refuses an older schema the same way: every step after the first creates a marker type, and
 * all statements of that version mention it. See `requireVersion` in statements/statement.ts.
 */
export type MigrationStep = TransactionStep | ConcurrentIndexStep

interface Step {
  /** The schema version after this step. Versions start at 1 and have no gaps. */
  readonly version: number
  /** The lowest schema version whose code runs on the resulting schema. */
  readonly minCompatible: number
}

/** Statements that take effect together with the new version. `{schema}` stands for the quoted schema name. */
export interface TransactionStep extends Step {
  readonly kind: 'transaction'
  readonly sql: string
}

/** An index on a table that may be large. `migrate()` builds it without blocking writers. */
export interface ConcurrentIndexStep extends Step {
  readonly kind: 'concurrent-index'
  readonly index: string
  readonly table: string
  readonly unique: boolean
  /** The SQL after the table name: columns, and the condition of a partial index. */
  readonly definition: string
}

export const STEPS: readonly MigrationStep[] = [
  { kind: 'transaction', version: 1, minCompatible: 1, sql: STEP_1 },
]

/** The schema version that this code needs. */
export const SCHEMA_VERSION = STEPS.at(-1)!.version
