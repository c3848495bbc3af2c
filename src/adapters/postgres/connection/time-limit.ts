import type { Database } from './database.js'

/**
 * Milliseconds until a statement without a response fails. Longer than the `statement_timeout` that docs/postgres.md sets: an error
 * of the server leaves no doubt about what took effect.
 */
export const TIME_LIMIT = 60_000

/**
 * Fails statements that get no response in time. The network may drop a connection without a word, and by default no driver
 * limits the wait. Scripts have no limit, because steps of a migration may take hours.
 */
export function withTimeLimit(database: Database): Database {
  return {
    ...database,
    run(...call) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const limit = new Promise<never>((_, reject) => {
        const error = new Error(
          `no response within ${TIME_LIMIT / 1000} s: another transaction holds a lock, or the network is silent`,
        )
        timer = setTimeout(() => reject(error), TIME_LIMIT)
      })
      return Promise.race([database.run(...call), limit]).finally(() => clearTimeout(timer))
    },
  }
}
