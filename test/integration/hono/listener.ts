import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'

/** Returns a listener of Node.js for an application with any context type. */
export function listenerOf({
  fetch,
}: {
  readonly fetch: Parameters<typeof getRequestListener>[0]
}): RequestListener {
  // Overriding them would affect the other tests in this process.
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false })
  return (message: IncomingMessage, response: ServerResponse) => void listener(message, response)
}
