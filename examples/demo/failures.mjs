import { StorageError } from '@svc/db'

/** Prints an error. While a store is unavailable, the reason is all that matters; other errors are printed with their stack. */
export function printFailure(error, { operation }) {
  if (!(error instanceof StorageError && error.code.endsWith('_UNAVAILABLE'))) {
    console.error(`${operation}:`, error)
    return
  }
  const reason = error.cause?.code ?? error.cause?.message
  console.error(`${error.message}${reason ? ` (${reason})` : ''}`)
}

/** Responds to an error of a route. Express's own handler would show the stack to the browser. */
export function sendFailure(error, req, res, next) {
  if (res.headersSent) return next(error)
  const { statusCode = 500, code = 'INTERNAL_ERROR', message } = error
  if (statusCode >= 500) printFailure(error, { operation: `${req.method} ${req.path}` })
  return res.status(statusCode).json({ code, message: error.expose ? message : 'Internal error.' })
}
