import { StorageError } from '@svc/db'

const QUIET_MILLISECONDS = 10_000

/**
 * Returns a function that prints errors. While a store is unavailable, each request fails for the same reason, so that is one
 * line every ten seconds. All other errors are printed with their stack.
 */
export function failureLog() {
  const printedAt = new Map()
  return (error, { operation }) => {
    if (!(error instanceof StorageError && error.code.endsWith('_UNAVAILABLE'))) {
      console.error(`${operation}:`, error)
      return
    }
    const reason = error.cause?.code ?? error.cause?.message
    const line = `${error.message}${reason ? ` (${reason})` : ''}`
    if (Date.now() - (printedAt.get(line) ?? 0) < QUIET_MILLISECONDS) return
    printedAt.set(line, Date.now())
    console.error(line)
  }
}
