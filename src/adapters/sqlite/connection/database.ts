/** What SQLite takes as a value of a statement. */
export type SqliteValue = string | number | bigint | null

/**
 * A prepared statement of `node:sqlite` or of `better-sqlite3`. It gets each value as a `SqliteValue`. Its parameters are `unknown`,
 * because TypeScript before 6.0 takes those of `@types/better-sqlite3` for `{}`, which excludes `null`.
 */
export interface SqliteStatement {
  all(...values: unknown[]): unknown[]
  get(...values: unknown[]): unknown
  run(...values: unknown[]): { changes: number | bigint }
}

/** An open database: a `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3`. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
}

/** What the two libraries call alike things, where they have them. */
export interface HandleState {
  /** Of better-sqlite3. */
  readonly inTransaction?: boolean
  /** Of `node:sqlite` since Node 22.16. */
  readonly isTransaction?: boolean
}

/** How a statement returns rows and integers. The application may have changed the defaults of its handle. */
interface StatementSettings {
  /** Of better-sqlite3. */
  raw?(enabled: boolean): unknown
  safeIntegers?(enabled: boolean): unknown
  /** Of `node:sqlite`, the first since Node 22.16. */
  setReturnArrays?(enabled: boolean): unknown
  setReadBigInts?(enabled: boolean): unknown
}

/**
 * Makes a statement return numbers, and each row as an array. Returns `false` if it returns rows as objects.
 * `returnsRows` is required because better-sqlite3 refuses to set this for a statement without rows.
 */
export function normalize(statement: SqliteStatement, returnsRows: boolean): boolean {
  const settings = statement as SqliteStatement & StatementSettings
  settings.safeIntegers?.(false)
  settings.setReadBigInts?.(false)
  if (!returnsRows) return false
  if (settings.raw) settings.raw(true)
  else if (settings.setReturnArrays) settings.setReturnArrays(true)
  else return false
  return true
}
