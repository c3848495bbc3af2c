import { normalize, type SqliteDatabase, type SqliteStatement, type SqliteValue } from './database.js'

/** The values of one row, in the order of the columns. */
export type Cells = readonly (string | number | null)[]

/** The values of a statement by name. Dates are stored as milliseconds since 1970, and `true` as 1. */
export type Values = Readonly<Record<string, string | number | boolean | Date | null | undefined>>

interface Prepared {
  readonly statement: SqliteStatement
  readonly returnsArrays: boolean
}

/** A statement that is prepared when it is first used. `:name` in its text is a value. It uses the values that it names. */
export class Statement {
  readonly #database: SqliteDatabase
  readonly #sql: string
  readonly #names: readonly string[]
  #prepared: Prepared | null = null

  constructor(database: SqliteDatabase, text: string) {
    const names: string[] = []
    this.#database = database
    // The libraries differ in how they take named values, but not in how they take a list.
    this.#sql = text.replace(/:(\w+)/g, (_, name: string) => {
      names.push(name)
      return '?'
    })
    this.#names = names
  }

  /** Returns all rows. */
  rows(values: Values = {}): Cells[] {
    const { statement, returnsArrays } = this.#prepare(true)
    const rows = statement.all(...this.#list(values))
    return (returnsArrays ? rows : rows.map(valuesIn)) as Cells[]
  }

  /** Returns the first row. */
  first(values: Values = {}): Cells | undefined {
    const { statement, returnsArrays } = this.#prepare(true)
    const row = statement.get(...this.#list(values))
    // Nothing in better-sqlite3 is `undefined`, and in some versions of node:sqlite `null`.
    if (row === undefined || row === null) return undefined
    return (returnsArrays ? row : valuesIn(row)) as Cells
  }

  /** Runs a statement without rows, and returns how many rows it changed. */
  run(values: Values = {}): number {
    return Number(this.#prepare(false).statement.run(...this.#list(values)).changes)
  }

  /** Does the same with the values in the order of the text. */
  runInOrder(values: Cells): number {
    return Number(this.#prepare(false).statement.run(...values).changes)
  }

  /** Forgets what was prepared on a connection that has been closed. */
  reset(): void {
    this.#prepared = null
  }

  #prepare(returnsRows: boolean): Prepared {
    if (this.#prepared) return this.#prepared
    const statement = this.#database.prepare(this.#sql)
    this.#prepared = { statement, returnsArrays: normalize(statement, returnsRows) }
    return this.#prepared
  }

  #list(values: Values): SqliteValue[] {
    const list: SqliteValue[] = []
    for (const name of this.#names) {
      const value = values[name]
      if (value === undefined || value === null) list.push(null)
      else if (typeof value === 'object') list.push(value.getTime())
      else list.push(typeof value === 'boolean' ? Number(value) : value)
    }
    return list
  }
}

function valuesIn(row: unknown): unknown[] {
  return Object.values(row as Readonly<Record<string, unknown>>)
}
