import { StorageError } from '../errors.js'
import { runGuards, type Guard, type GuardContext } from '../guards/guard.js'
import type { Report } from '../reporter.js'
import type { EndpointDescription } from './endpoint-description.js'
import type { Query } from './query.js'
import type { Reply } from './response.js'

/** Where an endpoint reads its input from. */
export interface InputSource {
  readonly query: Query
  /** Reads the body as a JSON object. @throws StorageError `VALIDATION_ERROR` (`body`) */
  json(): Promise<Readonly<Record<string, unknown>>>
}

/** What every step of an operation gets. */
export interface Call<Scope extends string | null = string> {
  readonly request: Request
  /** The caller; `null` if the caller is not signed in. */
  readonly scope: Scope
  /** Absolute URL of the base path in this request, without a trailing slash. */
  readonly baseURL: string
  readonly known: OperationSubject
}

/** Scope and route of an operation for observers. Filled in step by step, so that refused requests report what is known. */
export interface OperationSubject {
  scope: string | null
  /** The route of the new upload or of the object. */
  route: string | null
}

/** A request at its endpoint. */
export interface Exchange {
  readonly request: Request
  readonly known: OperationSubject
  readonly source: InputSource
  readonly baseURL: string
  readonly report: Report
  /** Returns the caller's scope. @throws StorageError `UNAUTHORIZED` if the caller is not signed in. */
  resolveScope(): Promise<string>
  /** Returns the caller's scope, or `null` if the caller is not signed in. */
  findScope(): Promise<string | null>
}

/** One row of the router's table. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below the base path. */
  readonly path: `/${string}`
  /** The operation's name in `onError` and `onOperation`, such as `upload.confirm`. */
  readonly operation: string
  /** Describes the endpoint for the OpenAPI document. Never called while serving a request. */
  describe(): EndpointDescription
  run(exchange: Exchange): Promise<Reply>
}

/** What the ownership check found; `null` if the operation has no object yet. */
export type OwnedSubject = { readonly route?: string | null } | null

/** The steps of a guarded operation, in the order in which they run. A step that throws ends the operation. */
export interface GuardedOperation<
  Input,
  Subject extends OwnedSubject,
  Scope extends string | null = string,
> extends Omit<Endpoint, 'run'> {
  /** Parses and validates the input. */
  parse(source: InputSource, call: Call<Scope>): Input | Promise<Input>
  /** Finds the caller's object. Throws `OBJECT_NOT_FOUND`, whether it is missing or belongs to another scope. */
  own(input: Input, call: Call<Scope>): Subject | Promise<Subject>
  /** Returns the application's guards and their context. */
  guard?(input: Input, subject: Subject, call: Call<Scope>): GuardPlan
  /**
   * Performs the operation and calls the application's hooks. Returns `null`, without having changed anything, if the subject
   * is no longer what the checks were made for. The checks are then repeated.
   */
  act(input: Input, subject: Subject, call: Call<Scope>): Promise<Reply | null>
}

export interface GuardPlan {
  readonly guards: readonly (Guard | null | undefined)[]
  readonly context: Omit<GuardContext, 'request' | 'scope'>
}

/** How often the checks of one request may run. Each repetition means that the subject was replaced in the meantime. */
const MAX_ROUNDS = 5

/** Creates an endpoint for signed-in callers from its steps. */
export function guardedEndpoint<Input, Subject extends OwnedSubject>(
  operation: GuardedOperation<Input, Subject>,
): Endpoint {
  return endpointOf(operation, (exchange) => exchange.resolveScope())
}

/**
 * Creates an endpoint that reads an object. With `admitsAnonymous`, the ownership check decides about callers who are not signed
 * in; otherwise they are refused before the input is read, as by {@link guardedEndpoint}.
 */
export function readingEndpoint<Input, Subject extends OwnedSubject>(
  admitsAnonymous: boolean,
  operation: GuardedOperation<Input, Subject, string | null>,
): Endpoint {
  return endpointOf(operation, (exchange) =>
    admitsAnonymous ? exchange.findScope() : exchange.resolveScope(),
  )
}

/** The order of the steps is defined here only: scope, input, ownership, application guards, act. */
function endpointOf<Input, Subject extends OwnedSubject, Scope extends string | null>(
  operation: GuardedOperation<Input, Subject, Scope>,
  scopeOf: (exchange: Exchange) => Promise<Scope>,
): Endpoint {
  return {
    method: operation.method,
    path: operation.path,
    operation: operation.operation,
    describe: () => operation.describe(),
    async run(exchange) {
      const { request, source, baseURL, report, known } = exchange
      const scope = await scopeOf(exchange)
      const call: Call<Scope> = { request, scope, baseURL, known }
      source.query.checkLength()
      const input = await operation.parse(source, call)
      for (let round = 1; round <= MAX_ROUNDS; round++) {
        const subject = await operation.own(input, call)
        known.route = subject?.route ?? known.route
        const plan = operation.guard?.(input, subject, call)
        if (plan) {
          await runGuards(plan.guards, { request, scope, ...plan.context }, (error) =>
            report(error, { request, operation: operation.operation }),
          )
        }
        const reply = await operation.act(input, subject, call)
        if (reply) return reply
      }
      throw new StorageError('KEY_CONFLICT', {
        message: 'The object was replaced again and again during the request. Try again.',
      })
    },
  }
}
