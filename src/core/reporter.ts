import { StorageError } from './errors.js'

/** Where an error happened: the operation, such as `upload.confirm`, and the request, if there was one. */
export interface ErrorContext {
  readonly request?: Request
  readonly operation: string
}

/** Called with every 5xx error and every error thrown by a guard or hook. What it throws is ignored. */
export type ErrorListener = (error: unknown, context: ErrorContext) => unknown

/** Reports an error to the application. Never throws and never waits. */
export type Report = (error: unknown, context: ErrorContext) => void

/** The default listener, so that errors don't disappear without one. */
const printError: ErrorListener = (error, { operation }) => {
  console.error(`@svc/db: ${operation} failed:`, error)
}

export function createReport(listener: ErrorListener | null | undefined): Report {
  const listen = listener ?? printError
  return (error, context) => {
    // An error of the listener is ignored: reporting it would call the broken listener again.
    new Promise((resolve) => resolve(listen(originOf(error), context))).catch(() => undefined)
  }
}

/** Unwraps an `INTERNAL_ERROR`, because its cause is what an operator needs to see. */
function originOf(error: unknown): unknown {
  const wraps = error instanceof StorageError && error.code === 'INTERNAL_ERROR' && error.cause !== undefined
  return wraps ? error.cause : error
}
