import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { StorageError } from '@svc/db/adapter'

export type Values = Record<string, SQLInputValue>

const BUSY = 5
/** READONLY, IOERR, CORRUPT, FULL, CANTOPEN and NOTADB: only an operator can help. */
const UNUSABLE = [8, 10, 11, 13, 14, 26]

/**
 * A connection to one file. node:sqlite is synchronous, so a transaction never waits for other code of its process. It waits
 * for other processes, and blocks its own meanwhile.
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

  /** Returns the rows of a statement. The caller knows their type from its text. */
  all<Row>(text: string, values: Values = {}): Row[] {
    return this.#attempt(() => this.#prepared(text).all(values) as Row[])
  }

  /** Returns the first row of a statement. */
  get<Row>(text: string, values: Values = {}): Row | undefined {
    return this.#attempt(() => this.#prepared(text).get(values) as Row | undefined)
  }

  /** Runs a statement and returns the number of rows it changed. */
  run(text: string, values: Values = {}): number {
    return this.#attempt(() => Number(this.#prepared(text).run(values).changes))
  }

  exec(text: string): void {
    this.#attempt(() => this.#open().exec(text))
  }

  /** Runs several reads on the state of one moment. */
  read<T>(body: () => T): T {
    return this.#transaction('BEGIN', body)
  }

  /** Runs a write. No other process writes from its first read to its commit. */
  write<T>(body: () => T): T {
    return this.#transaction('BEGIN IMMEDIATE', body)
  }

  close(): void {
    this.#isClosed = true
    this.#statements.clear()
    this.#database?.close()
    this.#database = null
  }

  #transaction<T>(begin: string, body: () => T): T {
    this.exec(begin)
    try {
      const result = body()
      this.exec('COMMIT')
      return result
    } catch (error) {
      try {
        this.exec('ROLLBACK')
      } catch {
        // SQLite has rolled back already, as it does if the disk is full.
      }
      throw error
    }
  }

  #open(): DatabaseSync {
    if (this.#isClosed) {
      throw new StorageError('DATABASE_UNAVAILABLE', { message: 'The store is closed.', retryable: false })
    }
    if (!this.#database) {
      this.#database = new DatabaseSync(this.#path)
      this.#database.exec(`PRAGMA busy_timeout = ${this.#busyTimeout}; PRAGMA synchronous = FULL`)
    }
    return this.#database
  }

  #prepared(text: string): StatementSync {
    const database = this.#open()
    const known = this.#statements.get(text)
    if (known) return known
    const statement = database.prepare(text)
    this.#statements.set(text, statement)
    return statement
  }

  #attempt<T>(body: () => T): T {
    try {
      return body()
    } catch (error) {
      const message = this.#failureOf(error)
      if (message === null) throw error
      // A lock ends with the write of the other process. Everything else lasts until an operator acts.
      const retryable = isBusy(error) ? undefined : false
      throw new StorageError('DATABASE_UNAVAILABLE', { message, cause: error, retryable })
    }
  }

  /** Returns what to tell the operator, or `null` for a bug. */
  #failureOf(error: unknown): string | null {
    const code = codeOf(error)
    if (code === BUSY) {
      return `Other processes locked ${this.#path} for more than ${this.#busyTimeout} ms.`
    }
    if (!(error instanceof Error) || code === null) return null
    if (UNUSABLE.includes(code)) return `SQLite can't use ${this.#path}: ${error.message}.`
    return /^no such (?:table|column)/.test(error.message)
      ? `${this.#path} lacks the tables of this release. Call migrate().`
      : null
  }
}

/** Returns whether an error of SQLite, or the error made of it, says that another process held a lock for too long. */
export function isBusy(error: unknown): boolean {
  return codeOf(error instanceof StorageError ? error.cause : error) === BUSY
}

/** Returns the primary result code of SQLite: the lowest byte of the extended one. */
function codeOf(error: unknown): number | null {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null
  return typeof code === 'number' ? code & 0xff : null
}
