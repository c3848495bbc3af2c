/** The methods of a `pg` Pool or Client that the adapter uses. Structural, so it fits any version of `pg`. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>
  // Distinguishes a pool or client from other objects with a `query` method.
  connect(...args: never[]): unknown
}

/** A query in the format of `pg`. */
export interface PostgresQuery {
  text: string
  values?: PostgresValue[]
  /** Each connection prepares the text once, under this name. */
  name?: string
  /** Milliseconds until it fails without a response. */
  query_timeout?: number
  rowMode: 'array'
  types: { getTypeParser: () => (value: string) => string }
}

/** Lists and dates are passed as strings, which no driver or session setting formats in its own way. */
export type PostgresValue = string | number | boolean | null

export interface PostgresResult {
  /** Arrays of strings and `null`, because queries set `rowMode` and `types`. Drivers declare other types. */
  rows: unknown[]
}

/**
 * The methods of a `postgres` (postgres.js) instance, or of the `sql` of its `begin` and `reserve`, that the adapter
 * uses.
 */
export interface PostgresSql {
  unsafe(
    text: string,
    values?: never[],
    options?: { prepare: boolean },
  ): {
    /** Requests rows as arrays of bytes, which no parser of the instance has changed. */
    raw(): PromiseLike<unknown[]>
  }
  typed(value: string | null, type: number): unknown
}

/** The methods of a PGlite database that the adapter uses. */
export interface PGliteDatabase {
  query(text: string, values: PostgresValue[], options: { rowMode: 'array' }): Promise<PostgresResult>
  exec(text: string, options: { rowMode: 'array' }): Promise<PostgresResult[]>
}

export type PostgresHandle = PostgresPool | PostgresSql | PGliteDatabase

/** Returns the pool that a call uses, and nothing before there is one. */
export type PostgresSource = () => PostgresHandle | null | undefined

/** A statement of the adapter, with parameters `$1`, `$2` …. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A row in the text format of Postgres. */
export type TextRow = readonly (string | null)[]

/** The seam between the adapter and the driver that talks to Postgres. */
export interface Database {
  /** Whether it is one connection that may be in a transaction of the caller, outside which a repeat could run. */
  readonly isBorrowed?: true
  /** Whether each call gets a connection from a pool, so that it can't run inside the caller's transaction. */
  readonly isPool?: boolean
  /** Returns how many connections of the pool a statement could take now, `Infinity` if that is unknown. */
  readonly spareConnections?: () => number
  /** Runs one statement in one round trip. */
  run(statement: Statement, values: readonly PostgresValue[]): Promise<TextRow[]>
  /** Runs statements in one transaction, or a single one on its own. Returns the rows of the last, as texts. */
  script(...statements: readonly string[]): Promise<TextRow[]>
}
