import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Handler } from '../../core/http/handler.js'
import { incomingBody } from './incoming-body.js'
import { whenOver } from './response-over.js'
import { sendResponse } from './send-response.js'

/** What a binding serves: the answer of `createS3Server` or `db`. */
export interface Served {
  readonly handler: Handler
  readonly basePath: string
}

/** A request on its way through a binding. */
export interface NodeExchange {
  readonly request: Request
  readonly message: IncomingMessage
  readonly response: ServerResponse
  /** The library's base path as it stands in the URL of the request. */
  readonly basePath: string
}

/** Answers one request. @throws what is unexpected; the answer may have begun then. */
export async function serve(handler: Handler, exchange: NodeExchange): Promise<void> {
  const { request, message, response, basePath } = exchange
  const { body, release } = incomingBody(message)
  whenOver(response, release)
  await sendResponse(await handler(request, { basePath, body }), response)
}
