import type { HandleState, SqliteDatabase } from './database.js'
import { afterOtherWork, isTurnOver } from './event-loop.js'
import { databaseError, isClosed } from './failures.js'
import { Statement, type Values } from './statement.js'
import { NotNow, Turns } from './turns.js'

/** How long a version that was read is trusted, in milliseconds. */
const TRUST_MILLISECONDS = 60_000

const SAVEPOINT = 'svc_db_write'

/** Only the turns of one handle know which writes of it wait. */
const turnsOfHandles = new WeakMap<SqliteDatabase, { readonly reads: Turns; readonly writes: Turns }>()

function turnsOf(database: SqliteDatabase) {
  const turns = turnsOfHandles.get(database) ?? { reads: new Turns(), writes: new Turns() }
  turnsOfHandles.set(database, turns)
  return turns
}

export interface ConnectionOptions {
  readonly database: SqliteDatabase
  /** How the names of all tables and indexes begin. */
  readonly prefix: string
  /** Whether writes take part in a transaction that the application has begun. */
  readonly join: boolean
  /** Returns a function that reads whether events are on. It throws if this code can't use the tables. */
  readonly tableCheck: (connection: Connection) => () => boolean
}

/**
 * A handle of the application's, and the statements of one store on it. Each piece of work is synchronous: nothing else of the process
 * runs between its statements, so a transaction that is open before it is the application's.
 */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #database: SqliteDatabase
  readonly #statements: Statement[] = []
  readonly #begin: Statement
  readonly #beginImmediate: Statement
  readonly #commit: Statement
  readonly #busyTimeout: Statement
  readonly #savepoint: Statement
  readonly #release: Statement
  readonly #checkTables: () => boolean
  #trustedUntil = -Infinity
  #hasLog = false
  #recordsEvents = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#database = options.database
    this.#begin = this.statement('BEGIN')
    this.#beginImmediate = this.statement('BEGIN IMMEDIATE')
    this.#commit = this.statement('COMMIT')
    this.#busyTimeout = this.statement('SELECT timeout FROM pragma_busy_timeout')
    this.#savepoint = this.statement(`SAVEPOINT ${SAVEPOINT}`)
    this.#release = this.statement(`RELEASE ${SAVEPOINT}`)
    this.#checkTables = options.tableCheck(this)
  }

  get prefix(): string {
    return this.#options.prefix
  }

  /** Whether events are on, as the write that runs has read it. */
  get recordsEvents(): boolean {
    return this.#recordsEvents
  }

  /** Creates a statement, in whose text `{objects}` is the table `objects` of this store. */
  statement(text: string): Statement {
    const statement = new Statement(this.#database, this.named(text))
    this.#statements.push(statement)
    return statement
  }

  named(text: string): string {
    return text.replace(/\{(\w+)\}/g, `${this.prefix}$1`)
  }

  /** Runs statements without values that are used once. */
  exec(text: string): void {
    this.#database.exec(this.named(text))
  }

  /** Returns the rows of a statement that is used once. */
  query(text: string, values?: Values) {
    return new Statement(this.#database, this.named(text)).rows(values)
  }

  /** Makes the next call read the version again. */
  forgetVersion(): void {
    this.#trustedUntil = -Infinity
  }

  /** Runs one statement that reads. Readers of a write-ahead log wait for no writer, so no time-out matters. */
  readonly read = <T>(body: () => T): Promise<T> =>
    this.#attempt(turnsOf(this.#database).reads, () => {
      this.#check()
      return body()
    })

  /** Runs several reads on the state of one moment. */
  readonly readTogether = <T>(body: () => T): Promise<T> =>
    this.read(() => (this.isInTransaction() ? body() : this.#transaction(this.#begin, body)))

  /** Runs work that needs no tables, such as a look at them. */
  readonly look = <T>(body: () => T): Promise<T> => this.#attempt(turnsOf(this.#database).reads, body)

  /** Runs a write. No other connection writes between its first read and its commit. */
  readonly write = <T>(body: () => T): Promise<T> => {
    const checked = () => {
      this.#recordsEvents = this.#checkTables()
      return body()
    }
    if (this.#options.join && this.isInTransaction()) return this.#joined(checked)
    return this.#attempt(turnsOf(this.#database).writes, (hasWaited) => {
      this.#refuseForeignTransaction()
      // With a log, SQLite refuses a transaction that has read when it begins to write beside another writer. It does so at once.
      if (!hasWaited && this.#isTrusted() && this.#hasLog) return this.#transaction(this.#begin, checked)
      return this.#locked(() => {
        const result = checked()
        if (!this.#isTrusted()) this.#trust()
        return result
      })
    })
  }

  /** Runs a write to tables of any version, never in a transaction of the application's. */
  readonly writeUnchecked = <T>(body: () => T): Promise<T> =>
    this.#attempt(turnsOf(this.#database).writes, () => {
      this.#refuseForeignTransaction()
      return this.#locked(body)
    })

  /** Changes the file outside of a transaction, which some settings need. */
  readonly change = <T>(body: () => T): Promise<T> =>
    this.#attempt(turnsOf(this.#database).writes, () => {
      this.#refuseForeignTransaction()
      return this.#withoutBlocking(body)
    })

  /** Runs a part of a write, which is undone alone if it throws. */
  savepoint<T>(body: () => T): T {
    this.#savepoint.run()
    try {
      const result = body()
      this.#release.run()
      return result
    } catch (error) {
      this.#undo(`ROLLBACK TO ${SAVEPOINT}; RELEASE ${SAVEPOINT}`)
      throw error
    }
  }

  isInTransaction(): boolean {
    const { inTransaction, isTransaction } = this.#database as SqliteDatabase & HandleState
    return inTransaction ?? isTransaction ?? this.#cannotBegin()
  }

  /** Tells a transaction where the library doesn't: a second one can't begin. The first statement of one takes no lock yet. */
  #cannotBegin(): boolean {
    try {
      this.#database.exec('BEGIN')
    } catch (error) {
      if (isClosed(error)) throw error
      return true
    }
    this.#database.exec('ROLLBACK')
    return false
  }

  #check(): void {
    if (this.#isTrusted()) return
    this.#checkTables()
    // What a transaction of the application's has changed may be rolled back.
    if (!this.isInTransaction()) this.#trust()
  }

  #isTrusted(): boolean {
    return performance.now() < this.#trustedUntil
  }

  #trust(): void {
    const [[mode] = []] = this.query('PRAGMA journal_mode')
    this.#hasLog = mode === 'wal'
    this.#trustedUntil = performance.now() + TRUST_MILLISECONDS
  }

  /**
   * Runs a write within the transaction of the application's, at once: it may be over when this process next gets its turn. A busy
   * file makes the process wait for as long as the application has set, as for its own statements.
   */
  async #joined<T>(body: () => T): Promise<T> {
    try {
      return this.savepoint(body)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #refuseForeignTransaction(): void {
    if (!this.isInTransaction()) return
    throw new NotNow(
      'A transaction that the application began on this handle has not ended for too long. ' +
        'Open another handle for the store, or set join: true to take part in the transaction.',
    )
  }

  /** Runs a write that has the lock of the file from its beginning. */
  #locked<T>(body: () => T): T {
    return this.#withoutBlocking(() => this.#transaction(this.#beginImmediate, body))
  }

  #transaction<T>(begin: Statement, body: () => T): T {
    begin.run()
    try {
      const result = body()
      this.#commit.run()
      return result
    } catch (error) {
      this.#undo('ROLLBACK')
      throw error
    }
  }

  /** SQLite rolls back by itself for some errors, such as a full disk. Then there is nothing to undo. */
  #undo(statements: string): void {
    try {
      this.#database.exec(statements)
    } catch {
      // The error that led here says more.
    }
  }

  /** Sets the time-out of the handle to 0, and back. SQLite keeps one for all statements of a handle. */
  #withoutBlocking<T>(body: () => T): T {
    const [timeout = 0] = (this.#busyTimeout.first() ?? []) as readonly number[]
    if (timeout === 0) return body()
    this.#database.exec('PRAGMA busy_timeout = 0')
    try {
      return body()
    } finally {
      this.#undo(`PRAGMA busy_timeout = ${timeout}`)
    }
  }

  #attempt<T>(turns: Turns, job: (hasWaited: boolean) => T): Promise<T> {
    const result = turns.run(job, this.#failure)
    return isTurnOver() && this.#allowsOtherWork() ? afterOtherWork(result) : result
  }

  /** In a transaction of the application's, the statements of other requests would become part of it. */
  #allowsOtherWork(): boolean {
    try {
      return !this.isInTransaction()
    } catch {
      // The handle is closed.
      return true
    }
  }

  readonly #failure = (error: unknown): Error => {
    // A handle that is opened again has lost its statements, and perhaps its tables.
    if (isClosed(error)) {
      for (const statement of this.#statements) statement.reset()
      this.forgetVersion()
    }
    const failure = databaseError(error)
    if (failure !== error) this.forgetVersion()
    return failure as Error
  }
}
