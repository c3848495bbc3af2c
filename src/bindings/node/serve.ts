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

/** @throws TypeError for what has no `handler` and `basePath`. */
export function checkServed({ handler, basePath }: Served, binding: string): void {
  if (typeof handler !== 'function' || typeof basePath !== 'string') {
    throw new TypeError(`${binding} takes what createS3Server() or db() returned.`)
  }
}

/** A request on its way through a binding. */
export interface NodeExchange {
  readonly request: Request
  readonly message: IncomingMessage
  readonly response: ServerResponse
  /** The library's base path as it stands in the URL of the request. */
  readonly basePath: string
  /** What a body parser has left, if there was one. */
  readonly parsed?: unknown
}

/** The library's answer to one request. @throws what is unexpected. */
export async function answer(handler: Handler, exchange: NodeExchange): Promise<Response> {
  const { request, message, response, basePath, parsed } = exchange
  const { body, release } = incomingBody(message, parsed)
  whenOver(response, release)
  return handler(request, { basePath, body })
}

/** Answers one request. @throws what is unexpected; the answer may have begun then. */
export async function serve(handler: Handler, exchange: NodeExchange): Promise<void> {
  await sendResponse(await answer(handler, exchange), exchange.response)
}

/** Frameworks take nothing, and some words, for something else than an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('The response failed.', { cause: thrown })
}
