import { STEP_1 } from './step-1/index.js'

/**
 * One step from a schema version to the next. A step that was released is frozen: whoever has run it never runs it
 * again, so what it got wrong is put right by a later one.
 *
 * **Two versions of the library share a schema** while an application is rolled out, and for as long as its owner likes.
 * What a version calls is therefore named with a version of its own (`reserve_v1`), and its name is a promise of
 * arguments and answers, not of a body:
 * - A step that needs writes to do more (keep another column, say) replaces the *body* of the older functions as well
 *   as adding a `_v2`, so that older processes keep the new promises without knowing them.
 * - Columns and indexes are added, never renamed or dropped while `minCompatible` still admits a version that reads them.
 * - A step that can't do that raises `minCompatible`, and takes away what the versions below it call: it renames the
 *   tables that they read and drops the functions that they call. Each of their calls then fails with "undefined", which
 *   they report as what it is. No call has to ask for the version first.
 */
export type MigrationStep = TransactionStep | ConcurrentIndexStep

interface Step {
  /** The schema version that it leads to; the first is 1, and none is left out. */
  readonly version: number
  /** The lowest schema version whose code runs on it. */
  readonly minCompatible: number
}

/** Statements that take effect all at once, with the new version. `{schema}` stands for the quoted schema. */
export interface TransactionStep extends Step {
  readonly kind: 'transaction'
  readonly sql: string
}

/** An index on a table that may be big, built while others read and write it. */
export interface ConcurrentIndexStep extends Step {
  readonly kind: 'concurrent-index'
  readonly index: string
  readonly table: string
  readonly unique: boolean
  /** What follows the name of the table: columns, and the condition of a partial index. */
  readonly definition: string
}

export const STEPS: readonly MigrationStep[] = [
  { kind: 'transaction', version: 1, minCompatible: 1, sql: STEP_1 },
]
