import type { ServerResponse } from 'node:http'
import { wasSent, whenOver } from './response-over.js'

/**
 * Gives a `Request` a signal that aborts when the client leaves before the response is finished. It is made when somebody
 * asks for it, which few do: handing one to the constructor takes longer than all else in it. A `clone()` has the same
 * signal; a copy by `new Request(request)` has one that never aborts.
 */
export function withClientSignal(request: Request, response: ServerResponse | undefined): Request {
  let client: AbortController | undefined
  return withSignal(request, () => (client ??= abortedBy(response)).signal)
}

function withSignal(request: Request, signal: () => AbortSignal): Request {
  return Object.defineProperties(request, {
    signal: { get: signal },
    clone: { value: () => withSignal(Request.prototype.clone.call(request), signal) },
  })
}

function abortedBy(response: ServerResponse | undefined): AbortController {
  const client = new AbortController()
  if (response) {
    whenOver(response, () => {
      if (!wasSent(response)) client.abort()
    })
  }
  return client
}
