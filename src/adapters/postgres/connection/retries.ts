import type { Database, PostgresValue, Statement, TextRow } from './database.js'
import { databaseError, hadFailedBefore, lostAnswer, wasRolledBack } from './failures.js'

const ROLLBACKS = 5
const LONGEST_PAUSE = 20

/** A call that failed after longer than this has waited for a timeout; asking again would only double the wait. */
const PROMPT = 1000

export interface CallOptions {
  /** Whether the call may be made again where its answer was lost, because twice does what once does. */
  readonly repeatable: boolean
}

export type Call = (
  statement: Statement,
  values: readonly PostgresValue[],
  options: CallOptions,
) => Promise<TextRow[]>

/**
 * Calls of a database as the store makes them: repeated where that is safe, and what fails for good is the error of the
 * contract. What was rolled back can be repeated always. A lost answer is asked for once more, since a pool finds out
 * only so that the database has restarted: each of its idle connections breaks at its next use.
 */
export function callsOf(database: Database): Call {
  return async (statement, values, { repeatable }) => {
    let lost = false
    let rollback: unknown
    for (let rollbacks = 0; ;) {
      const start = performance.now()
      try {
        return await database.run(statement, values)
      } catch (error) {
        if (wasRolledBack(error) && rollbacks < ROLLBACKS) {
          rollbacks++
          rollback = error
        } else if (repeatable && !lost && lostAnswer(error) && performance.now() - start < PROMPT) {
          lost = true
        } else {
          // In a transaction of the caller a rollback can't be repeated, and is what the caller must hear of.
          throw databaseError(rollback !== undefined && hadFailedBefore(error) ? rollback : error)
        }
        // Others that were rolled back get ahead, and a pool hears which of its other connections broke at the same time.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_PAUSE))
      }
    }
  }
}
