/**
 * What the adapter needs of a `pg` Pool or Client, or of anything that has the same methods. Structural, so that an
 * application's version of `pg` and its types are its own business.
 */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>
  // Distinguishes a pool or client from other things with a `query`.
  connect(...args: never[]): unknown
}

/** A query as `pg` takes it. */
export interface PostgresQuery {
  text: string
  values?: PostgresValue[]
  /** Prepared under this name once a connection. */
  name?: string
  rowMode: 'array'
  types: { getTypeParser: () => (value: string) => string }
}

/** Lists and dates go as text, so that nothing depends on how a driver or a session writes them. */
export type PostgresValue = string | number | boolean | null

export interface PostgresResult {
  /** Arrays of texts and `null`, as was asked for; drivers' types don't know that. */
  rows: unknown[]
}

/** What the adapter needs of a PGlite database. */
export interface PGliteDatabase {
  query(text: string, values: PostgresValue[], options: { rowMode: 'array' }): Promise<PostgresResult>
  exec(text: string, options: { rowMode: 'array' }): Promise<PostgresResult[]>
}

/** A statement of the adapter: one text per idea, with `$1`, `$2` … for what changes from call to call. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A row as the database wrote it: text, or `null`. */
export type TextRow = readonly (string | null)[]

/** The one seam between the adapter and whatever speaks to Postgres. */
export interface Database {
  /** One statement, one round trip. */
  run(statement: Statement, values: readonly PostgresValue[]): Promise<TextRow[]>
  /**
   * Statements without values in one transaction; resolves to the rows of the last, which answers text. One that is
   * alone has the transaction to itself.
   */
  script(...statements: readonly string[]): Promise<TextRow[]>
}
