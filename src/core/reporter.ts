import { StorageError } from './errors.js'

/** What an error happened in: the operation's name, such as `upload.confirm`, and the request where there was one. */
export interface ErrorContext {
  readonly request?: Request
  readonly operation: string
}

/** Told every 5xx and every error of a guard or a hook. What it throws is ignored. */
export type ErrorListener = (error: unknown, context: ErrorContext) => unknown

/** Tells the application of an error; never throws, waits for nothing. */
export type Report = (error: unknown, context: ErrorContext) => void

/** Errors that nobody listens to must not vanish: they go where a developer looks first. */
const printError: ErrorListener = (error, { operation }) => {
  console.error(`@svc/db: an error in ${operation}`, error)
}

export function createReport(listener: ErrorListener | null | undefined): Report {
  const tell = listener ?? printError
  return (error, context) => {
    // A broken listener must not turn one error into two.
    new Promise((resolve) => resolve(tell(originOf(error), context))).catch(() => undefined)
  }
}

/** What the operator wants to see: the application's own error, where an `INTERNAL_ERROR` only wraps it. */
function originOf(error: unknown): unknown {
  const wraps = error instanceof StorageError && error.code === 'INTERNAL_ERROR' && error.cause !== undefined
  return wraps ? error.cause : error
}
