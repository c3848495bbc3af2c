import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Served } from '../http-table/fixture.js'
import type { Listening } from './listening.js'

/** Middleware with Node's message and response. It responds or calls `proceed`. */
export type Step = (message: IncomingMessage, response: ServerResponse, proceed: () => void) => void

/** An application route, which responds itself. */
export type OwnRoute = (request: Request, response: ServerResponse, message: IncomingMessage) => void

/** An application of a framework, reduced to what the tests of all bindings use. */
export interface FrameworkApp {
  /** Errors that the application has received. */
  readonly errors: readonly unknown[]
  use(step: Step): this
  /** Rewrites the target of each request before the application gets it. */
  useRewrite(rewrite: (target: string) => string): this
  /** Adds middleware that awaits `work` with the result of `fetchRequest`. */
  useWork(work: (request: Request) => Promise<void>): this
  /** Adds a JSON parser for what is added later. `moreTypes`: other media types to parse as JSON. */
  useJsonParser(moreTypes?: readonly string[]): this
  /** Adds cookie sessions with the framework's usual middleware. */
  useSessions(): this
  /** Adds the library, mounted at `path` if given. */
  bind(served: Served, path?: string): this
  /** Adds a route for every path, with the result of `fetchRequest`. */
  route(run: OwnRoute): this
  /** Adds a route for every path that returns the parsed body as JSON. */
  routeOfParsedBody(): this
  /**
   * Listens until the end of the test. Responds to errors with status 500 and `by the application`, unless the response has
   * started or `ignoreErrors` is set.
   */
  listen(options?: { readonly ignoreErrors?: boolean }): Promise<Listening>
}

/** The public functions of a binding. */
export interface BindingFunctions {
  readonly binding: (served: Served) => unknown
  /** Accepts the framework's own request or context. */
  readonly fetchRequest: (own: never) => Request
  /** Returns the framework's own request or context. */
  readonly ownRequest: (request: Request) => object
}

export interface Framework {
  readonly name: string
  readonly app: (options?: AppOptions) => FrameworkApp
  /** Imports the binding, again after `vi.resetModules`. */
  readonly load: () => Promise<BindingFunctions>
  /** Returns the session from the framework's request. */
  readonly sessionOf: (request: Request) => { account?: string }
  /** Which of several values of `X-Forwarded-Host` and `X-Forwarded-Proto` the framework uses. */
  readonly forwarded: 'first' | 'last'
  /** Whether the framework refuses paths with an invalid percent-encoding before the application sees them. */
  readonly refusesMalformedPaths: boolean
}

export interface AppOptions {
  /** Whether to trust proxy headers. Default: that of the framework. */
  readonly trustsProxy?: boolean
}
