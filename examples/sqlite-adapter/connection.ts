import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { StorageError } from '@svc/db/adapter'
import { decode, encode } from './values.ts'

const BUSY = 5
/** READONLY, IOERR, CORRUPT, FULL, CANTOPEN and NOTADB: only an operator can help. */
const UNUSABLE = [8, 10, 11, 13, 14, 26]

/**
 * A connection to one file. node:sqlite is synchronous: no other code of the process runs during a transaction, and a write
 * that waits for other processes blocks its own.
 */
export class Connection {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string, busyTimeout: number) {
    this.#path = path
    this.#database = this.#attempt(() => new DatabaseSync(path))
    this.exec(`PRAGMA busy_timeout = ${busyTimeout}; PRAGMA synchronous = FULL`)
  }

  /** Returns the rows of a statement, which uses the values that it names and ignores the others. */
  all<Row>(text: string, values: object = {}): Row[] {
    return this.#attempt(() => this.#prepared(text).all(encode(values)).map(decode) as Row[])
  }

  /** Returns the first row of a statement. */
  readonly get = <Row>(text: string, values: object = {}): Row | undefined => this.all<Row>(text, values)[0]

  /** Runs a statement and returns how many rows it changed. */
  run(text: string, values: object = {}): number {
    return this.#attempt(() => Number(this.#prepared(text).run(encode(values)).changes))
  }

  readonly exec = (text: string): void => this.#attempt(() => this.#database.exec(text))

  /** Runs several reads on the state of one moment. */
  readonly read = <T>(body: () => T) => this.#transaction('BEGIN', body)

  /** Runs a write. No other process writes between its first read and its commit. */
  readonly write = <T>(body: () => T) => this.#transaction('BEGIN IMMEDIATE', body)

  readonly close = () => this.#database.close()

  #transaction<T>(begin: string, body: () => T): T {
    this.exec(begin)
    try {
      const result = body()
      this.exec('COMMIT')
      return result
    } catch (error) {
      // SQLite itself rolls back for some errors, such as a full disk.
      if (this.#database.isTransaction) this.exec('ROLLBACK')
      throw error
    }
  }

  #prepared(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? this.#database.prepare(text)
    statement.setAllowUnknownNamedParameters(true)
    this.#statements.set(text, statement)
    return statement
  }

  /** Runs a call of SQLite, and throws `DATABASE_UNAVAILABLE` for its failures, but not for bugs. */
  #attempt<T>(body: () => T): T {
    try {
      return body()
    } catch (error) {
      if (!(error instanceof Error && 'errcode' in error)) throw error
      // The lowest byte of an extended result code is the primary one.
      const code = Number(error.errcode) & 0xff
      if (code === BUSY) {
        const message = `Other processes have locked ${this.#path} for too long.`
        throw new StorageError('DATABASE_UNAVAILABLE', { message, cause: error })
      }
      if (UNUSABLE.includes(code))
        throw unavailable(`SQLite can't use ${this.#path}: ${error.message}.`, error)
      if (!/^no such (?:table|column|index)/.test(error.message)) throw error
      throw unavailable(`${this.#path} lacks the tables of this release. Call migrate().`, error)
    }
  }
}

/** Creates the error for what lasts until an operator acts. */
export function unavailable(message: string, cause?: Error): StorageError {
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause, retryable: false })
}
