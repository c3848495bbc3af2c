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

const MAX_ROLLBACKS = 5
const MAX_DELAY_MILLISECONDS = 20

/** A call that took longer to fail ran into a timeout. Repeating it would only double the wait. */
const PROMPT_MILLISECONDS = 1000

/** `repeatable`: the call is idempotent, so it may be repeated after its response was lost. */
export type Call = (
  statement: Statement,
  values: readonly PostgresValue[],
  options: { readonly repeatable: boolean },
) => Promise<TextRow[]>

/**
 * Creates calls that retry where that is safe and throw the errors of the store contract. A rolled back statement can
 * always be repeated. An idempotent call whose response was lost is repeated once, because after a restart of the
 * database each idle connection of a pool breaks at its next use. On a borrowed connection nothing is repeated.
 */
export function createCall(database: Database): Call {
  return async (statement, values, { repeatable }) => {
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
          repeatable &&
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
}

/** Creates calls to the database of `readPool`. While that one has not received a migration yet, `callPrimary` serves them. */
export function createReadPoolCall(database: Database, callPrimary: Call): Call {
  const call = createCall(database)
  return (...args) =>
    call(...args).catch((error: unknown) => {
      if (isNotMigrated(error)) return callPrimary(...args)
      // An operator would look at the primary otherwise.
      throw error instanceof StorageError ? copyOf(error, `readPool: ${error.message}`) : error
    })
}
