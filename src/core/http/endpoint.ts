import { runGuards, type Guard, type GuardContext } from '../guards/guard.js'
import type { Report } from '../reporter.js'
import type { EndpointDescription } from './endpoint-description.js'
import type { Query } from './query.js'
import type { Reply } from './reply.js'

/** What the input of an endpoint is read from. */
export interface InputSource {
  readonly query: Query
  /** The JSON object of the body; `VALIDATION_ERROR` (`body`) where there is none. */
  json(): Promise<Readonly<Record<string, unknown>>>
}

/** What every step of an operation knows. */
export interface Call {
  readonly request: Request
  readonly scope: string
  /** Absolute URL of the library's base in this request, without a slash at its end. */
  readonly baseURL: string
  readonly known: OperationSubject
}

/** What a request turns out to be about, filled in as it goes on, for whoever observes it: also if it is refused then. */
export interface OperationSubject {
  scope: string | null
  /** Of the upload that begins, or of the object. */
  route: string | null
}

/** A request that has reached its endpoint. */
export interface Exchange {
  readonly request: Request
  readonly known: OperationSubject
  readonly source: InputSource
  readonly baseURL: string
  readonly report: Report
  /** The caller; `UNAUTHORIZED` where there is none. */
  resolveScope(): Promise<string>
}

/** One row of the table that the router works from. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the base path. */
  readonly path: `/${string}`
  /** What `onError` is told, such as `upload.confirm`. */
  readonly operation: string
  /** For the API's document; never called while a request is served. */
  describe(): EndpointDescription
  run(exchange: Exchange): Promise<Reply>
}

/** What a caller owns, where there is anything yet. */
export type OwnedSubject = { readonly route?: string | null } | null

/** The steps of a guarded operation, in the order in which they run; none runs when an earlier one has denied. */
export interface GuardedOperation<Input, Subject extends OwnedSubject> extends Omit<Endpoint, 'run'> {
  /** Checks the input. Denies with `VALIDATION_ERROR` and its kin. */
  parse(source: InputSource, call: Call): Input | Promise<Input>
  /** Finds what the caller owns. Denies with `OBJECT_NOT_FOUND`, whether it is missing or another scope's. */
  own(input: Input, call: Call): Subject | Promise<Subject>
  /** The application's guards and what they are shown. Left out: none. */
  guard?(input: Input, subject: Subject, call: Call): GuardPlan
  /** The act itself, with the application's hooks. */
  act(input: Input, subject: Subject, call: Call): Promise<Reply>
}

export interface GuardPlan {
  readonly guards: readonly (Guard | null | undefined)[]
  readonly context: Omit<GuardContext, 'request' | 'scope'>
}

/** The one place that knows the order: scope, input, ownership, the application's guards, the act. */
export function guardedEndpoint<Input, Subject extends OwnedSubject>(
  operation: GuardedOperation<Input, Subject>,
): Endpoint {
  return {
    method: operation.method,
    path: operation.path,
    operation: operation.operation,
    describe: () => operation.describe(),
    async run(exchange) {
      const { request, source, baseURL, report, known } = exchange
      const scope = await exchange.resolveScope()
      const call: Call = { request, scope, baseURL, known }
      const input = await operation.parse(source, call)
      const subject = await operation.own(input, call)
      known.route ??= subject?.route ?? null
      const plan = operation.guard?.(input, subject, call)
      if (plan) {
        await runGuards(plan.guards, { request, scope, ...plan.context }, (error) =>
          report(error, { request, operation: operation.operation }),
        )
      }
      return operation.act(input, subject, call)
    },
  }
}
