import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Handler, PlainHandler } from '../../core/http/handler.js'
import { incomingBody } from './incoming-body.js'
import { whenOver } from './response-over.js'
import type { AnyResponse } from './response-body.js'
import { sendResponse } from './send-response.js'

/** What a binding serves: the result of `createS3Server` or `db`. */
export interface Served {
  readonly handler: Handler
  readonly basePath: string
}

/** The property of a handler with the one for bindings. A registered symbol, which the core and all builds share. */
const PLAIN_HANDLER = Symbol.for('@svc/db/plain-handler')

/** Returns the plain handler of a handler. A wrapper has none, because it may change responses, and is returned as it is. */
export function plainHandlerOf(handler: Handler): PlainHandler {
  return (handler as { readonly [PLAIN_HANDLER]?: PlainHandler })[PLAIN_HANDLER] ?? handler
}

/** @throws TypeError unless the argument has a `handler` and a `basePath`. */
export function checkServed({ handler, basePath }: Served, binding: string): void {
  if (typeof handler !== 'function' || typeof basePath !== 'string') {
    throw new TypeError(`${binding} expects the result of createS3Server() or db().`)
  }
}

/** A request and what a binding knows about it. */
export interface NodeExchange {
  readonly request: Request
  /** The message, or a stream that the framework has put in its place. */
  readonly message: Readable
  readonly response: ServerResponse
  /** The library's base path as it appears in the URL of the request. */
  readonly basePath: string
  /** The value that a body parser has set, if any. */
  readonly parsed?: unknown
}

/** Runs the library's handler. @throws unexpected errors. */
export function respond(handler: Handler, exchange: NodeExchange): Promise<AnyResponse> {
  const { request, message, response, basePath, parsed } = exchange
  const { body, release } = incomingBody(message, parsed)
  whenOver(response, release)
  return plainHandlerOf(handler)(request, { basePath, body })
}

/** Runs the library's handler and sends its response. @throws unexpected errors, possibly after the response has started. */
export async function serve(handler: Handler, exchange: NodeExchange): Promise<void> {
  await sendResponse(await respond(handler, exchange), exchange.response)
}

/** Wraps a thrown value that isn't an `Error`, because frameworks treat values such as `undefined` or `'route'` specially. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('The response failed.', { cause: thrown })
}
