import type { Handler, PlainHandler } from '../../core/http/handler.js'
import { throwError } from './response.js'

/** What a binding serves: the result of `createS3Server` or `db`. */
export interface Served {
  readonly handler: Handler
  readonly basePath: string
}

/** The property of a handler with the one for bindings. A registered symbol, which the core and all builds share. */
const PLAIN_HANDLER = Symbol.for('@svc/db/plain-handler')

/** @throws TypeError unless the argument has a `handler` and a `basePath`. */
export function checkServed(served: Served, binding: string) {
  const { handler, basePath } = Object(served) as Partial<Served>
  if (typeof handler !== 'function' || typeof basePath !== 'string') {
    throw new TypeError(`${binding} expects the result of createS3Server() or db().`)
  }
  const plainHandler = (handler as { readonly [PLAIN_HANDLER]?: PlainHandler })[PLAIN_HANDLER]
  return { basePath, handler: plainHandler ?? converted(handler) }
}

/** Converts the `Response` of a function around the library's handler, which has no plain handler. */
function converted(handler: Handler): PlainHandler {
  return async (request, options) => {
    try {
      const { status, headers, body } = await handler(request, options)
      return { status, headers: [...headers], body }
    } catch (thrown) {
      throwError(thrown)
    }
  }
}
