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
  readonly #busyTimeout: number
  readonly #statements = new Map<string, StatementSync>()
  #database: DatabaseSync | null = null
  #isClosed = false

  constructor(path: string, busyTimeout: number) {
    this.#path = path
    this.#busyTimeout = busyTimeout
  }

  /** Returns the rows of a statement, which uses the values it names and ignores the others. */
  all<Row>(text: string, values: object = {}): Row[] {
    return this.#attempt(() => this.#prepared(text).all(encode(values)).map(decode) as Row[])
  }

  get<Row>(text: string, values: object = {}): Row | undefined {
    return this.all<Row>(text, values)[0]
  }

  /** Runs a statement and returns how many rows it changed. */
  run(text: string, values: object = {}): number {
    return this.#attempt(() => Number(this.#prepared(text).run(encode(values)).changes))
  }

  exec(text: string): void {
    this.#attempt(() => this.#open().exec(text))
  }

  /** Runs several reads on the state of one moment. */
  read<T>(body: () => T): T {
    return this.#transaction('BEGIN', body)
  }

  /** Runs a write. No other process writes between its first read and its commit. */
  write<T>(body: () => T): T {
    return this.#transaction('BEGIN IMMEDIATE', body)
  }

  close(): void {
    this.#isClosed = true
    this.#database?.close()
  }

  #transaction<T>(begin: string, body: () => T): T {
    this.exec(begin)
    try {
      const result = body()
      this.exec('COMMIT')
      return result
    } catch (error) {
      // SQLite itself rolls back for some errors, such as a full disk.
      if (this.#database?.isTransaction) this.exec('ROLLBACK')
      throw error
    }
  }

  #open(): DatabaseSync {
    if (this.#isClosed) throw unavailable('The store is closed.')
    if (!this.#database) {
      this.#database = new DatabaseSync(this.#path)
      this.#database.exec(`PRAGMA busy_timeout = ${this.#busyTimeout}; PRAGMA synchronous = FULL`)
    }
    return this.#database
  }

  #prepared(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? this.#open().prepare(text)
    statement.setAllowUnknownNamedParameters(true)
    this.#statements.set(text, statement)
    return statement
  }

  #attempt<T>(body: () => T): T {
    try {
      return body()
    } catch (error) {
      const code = codeOf(error)
      if (code === null || !(error instanceof Error)) throw error
      if (code === BUSY) {
        const message = `Other processes locked ${this.#path} for more than ${this.#busyTimeout} ms.`
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

/** Returns whether another process held a lock for too long. */
export function isBusy(error: unknown): boolean {
  return codeOf(error instanceof StorageError ? error.cause : error) === BUSY
}

/** Returns the primary result code of SQLite: the lowest byte of the extended one. */
function codeOf(error: unknown): number | null {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null
  return typeof code === 'number' ? code & 0xff : null
}
