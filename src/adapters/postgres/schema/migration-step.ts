/**
 * One step from a schema version to the next. A released step is frozen: a database that has run it never runs it
 * again, so a later step has to correct its mistakes. Function bodies are frozen byte for byte, comments included,
 * because `verify()` compares them.
 *
 * **Two versions of the library share a schema** during a rolling deployment, and for as long as the application likes.
 * Functions therefore carry a version in their name (`reserve_v1`), which fixes their arguments and results, not their
 * body:
 * - If a write must do more, such as fill a new column, the step adds a `_v2`. Code of the new version accepts rows
 *   that older processes write, such as a `NULL` in the new column. Where it can't, the step also replaces the body of
 *   the older function.
 * - Columns and indexes are added. They are not renamed or dropped while `minCompatible` admits a version that reads
 *   them.
 * - A step that can't follow these rules raises `minCompatible`, renames the tables that older versions read and drops
 *   the functions that they call. Each call of an older process then fails with an "undefined" error, which the process
 *   reports as an outdated schema. No call has to read the version first.
 *
 * Code of a newer version refuses an older schema the same way: every step after the first creates a marker type, and
 * all statements of that version mention it. See `requireVersion` in statements/statement.ts.
 */
export interface MigrationStep {
  /** The schema version after this step. Versions start at 1 and have no gaps. */
  readonly version: number
  /** The lowest schema version whose code runs on the resulting schema. */
  readonly minCompatible: number
  /**
   * What the step adds to tables of earlier steps, in order. These tables may be large and in use, so `migrate()` makes
   * each addition by itself before it runs `sql`, and does not block writers.
   */
  readonly additions: readonly Addition[]
  /** The columns of the tables that `sql` creates, as Postgres describes them. Step 1 has them in expected-catalog.ts. */
  readonly tables?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Statements that take effect together with the new version. `{schema}` stands for the quoted schema name. */
  readonly sql: string
}

export type Addition = AddedColumns | AddedIndex

/** Columns of one table. A default must be a constant, so that Postgres does not rewrite the table. */
export interface AddedColumns {
  readonly kind: 'columns'
  readonly table: string
  /** The definition of each column, as Postgres writes it. */
  readonly columns: Readonly<Record<string, string>>
}

export interface AddedIndex {
  readonly kind: 'index'
  readonly index: string
  readonly table: string
  readonly unique: boolean
  /** The SQL after the table name: columns, and the condition of a partial index. */
  readonly definition: string
}
