import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Served } from '../http-table/fixture.js'
import type { Listening } from './listening.js'

/** A middleware in the terms of Node: it answers, or proceeds to the next one. */
export type Step = (message: IncomingMessage, response: ServerResponse, proceed: () => void) => void

/** A route of the application's own, which answers by itself. */
export type OwnRoute = (request: Request, response: ServerResponse, message: IncomingMessage) => void

/** An application of any framework, as far as every binding must work with it. */
export interface FrameworkApp {
  /** What the application was told of as an error. */
  readonly errors: readonly unknown[]
  use(step: Step): this
  /** Middleware that waits for this work; it gets what `fetchRequest` made. */
  useWork(work: (request: Request) => Promise<void>): this
  /** `moreTypes`: media types that it takes for JSON, too. */
  useJsonParser(moreTypes?: readonly string[]): this
  /** The sessions that the framework's own middleware keeps by a cookie. */
  useSessions(): this
  /** The library, below `path` where there is one. */
  bind(served: Served, path?: string): this
  /** At every path; it gets what `fetchRequest` made. */
  route(run: OwnRoute): this
  /** At every path: answers, as JSON, what the parser has made of the body. */
  routeOfParsedBody(): this
  /**
   * Until the test is over. The application answers an error with status 500 and `by the application`, where it can and
   * doesn't ignore it.
   */
  listen(options?: { readonly ignoreErrors?: boolean }): Promise<Listening>
}

export interface Framework {
  readonly name: string
  readonly app: (options?: AppOptions) => FrameworkApp
  /** The session of a request, as the framework's own request has it. */
  readonly sessionOf: (request: Request) => { account?: string }
  /** The header of a request, as the framework's own request has it. */
  readonly headerOf: (request: Request, name: string) => string
}

export interface AppOptions {
  /** Whether to believe what a proxy says of the request. Default: the framework's. */
  readonly trustsProxy?: boolean
}
