import { StorageError } from '../../../core/errors.js'
import type { Database, PostgresValue, Statement, TextRow } from './database.js'
import {
  copyOf,
  databaseError,
  isNotMigrated,
  isInFailedTransaction,
  lostResponse,
  wasRolledBack,
} from './failures.js'

/** Milliseconds until a statement without a response fails. Longer than the `statement_timeout` of docs/postgres.md. */
export const TIME_LIMIT = 60_000

const NO_RESPONSE = `no response within ${TIME_LIMIT / 1000} s: another transaction holds a lock, or the network is silent`

const MAX_ROLLBACKS = 5
const MAX_DELAY_MILLISECONDS = 20

/** A call that took longer to fail ran into a timeout. Repeating it would only double the wait. */
const PROMPT_MILLISECONDS = 1000

export type Call = (statement: Statement, values: readonly PostgresValue[]) => Promise<TextRow[]>

/** Idempotent calls, which may be repeated after their response was lost, and all others. */
export interface Calls {
  readonly idempotent: Call
  readonly once: Call
}

/**
 * Creates calls that retry where that is safe and throw the errors of the store contract. An idempotent call whose
 * response was lost is repeated once: after a restart of the database, each idle connection of a pool breaks at its
 * next use.
 */
export function createCalls(database: Database): Calls {
  const callOf =
    (isIdempotent: boolean): Call =>
    async (statement, values) => {
      let lost = false
      let rollback: unknown
      for (let rollbacks = 0; ;) {
        const start = performance.now()
        try {
          return await database.run(statement, values)
        } catch (error) {
          if (database.isBorrowed) throw databaseError(error)
          if (wasRolledBack(error) && rollbacks < MAX_ROLLBACKS) {
            rollbacks++
            rollback = error
          } else if (
            isIdempotent &&
            !lost &&
            lostResponse(error) &&
            performance.now() - start < PROMPT_MILLISECONDS
          ) {
            lost = true
          } else {
            // In the caller's own transaction a rollback can't be repeated, so report it instead of the failed repeat.
            throw databaseError(rollback !== undefined && isInFailedTransaction(error) ? rollback : error)
          }
          // Spreads conflicting retries, and gives the pool time to notice that its other connections broke as well.
          await new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_DELAY_MILLISECONDS))
        }
      }
    }
  return { idempotent: callOf(true), once: callOf(false) }
}

/** Creates the reads of the database of `readPool`. Until that has received a migration, `callPrimary` serves them. */
export function createReadPoolCall(database: Database, callPrimary: Call): Call {
  const { idempotent } = createCalls(database)
  return (...args) =>
    idempotent(...args).catch((error: unknown) => {
      if (isNotMigrated(error)) return callPrimary(...args)
      // An operator would look at the primary otherwise.
      throw error instanceof StorageError ? copyOf(error, `readPool: ${error.message}`) : error
    })
}

/** Fails statements without a response, which drivers wait for. Scripts have no limit: migrations may take hours. */
export function withTimeLimit(database: Database): Database {
  return {
    ...database,
    run: (statement, values) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(NO_RESPONSE)), TIME_LIMIT)
        database
          .run(statement, values)
          .finally(() => clearTimeout(timer))
          .then(resolve, reject)
      }),
  }
}
