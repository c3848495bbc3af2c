import { StorageError, type ErrorCode } from '../errors.js'
import { runGuards, type Guard, type GuardContext } from '../guards.js'
import type { JsonSchema } from '../json.js'
import type { Report } from '../reporter.js'
import type { ReadOf } from '../store/inputs/fields.js'
import type { Query } from './query.js'
import { type HttpFields, readSent, type SentValues } from './fields.js'
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
  /** `GET` serves `HEAD` too, unless the path has an endpoint for it. */
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below the base path. */
  readonly path: `/${string}`
  /** The operation's name in `onError` and `onOperation`, such as `upload.confirm`. */
  readonly operation: string
  /** The fields of the query. */
  readonly query?: HttpFields
  /** The fields of the JSON body. */
  readonly body?: HttpFields
  /** Describes the endpoint for the OpenAPI document. Never called while serving a request. */
  describe(): EndpointDescription
  run(exchange: Exchange): Promise<Reply>
}

/** What the OpenAPI document says about an endpoint, besides its fields. */
export interface EndpointDescription {
  /** One sentence. */
  readonly summary: string
  readonly answer: DescribedAnswer
  /** In addition to those that every endpoint may return. */
  readonly errors: readonly ErrorCode[]
}

/** The success response. `body` is `null` in the response to `HEAD`. 302 has a `Location`. */
export type DescribedAnswer =
  | { readonly status: 200 | 201; readonly description: string; readonly body: JsonSchema }
  | { readonly status: 204 | 302; readonly description: string }
  | { readonly status: 200; readonly description: string; readonly body: null }

/** What the ownership check found; `null` if the operation has no object yet. */
export type OwnedSubject = { readonly route?: string | null } | null

/** The steps of a guarded operation after its input, in the order in which they run. A step that throws ends the operation. */
export interface OperationSteps<Input, Subject extends OwnedSubject, Scope extends string | null, Result> {
  /** Finds the caller's object. Throws `OBJECT_NOT_FOUND`, whether it is missing or belongs to another scope. */
  own(input: Input, call: Call<Scope>): Subject | Promise<Subject>
  /** Returns the application's guards and their context. */
  guard?(input: Input, subject: Subject, call: Call<Scope>): GuardPlan
  /**
   * Performs the operation and calls the application's hooks. Returns `null`, without having changed anything, if the subject
   * is no longer what the checks were made for. The checks are then repeated.
   */
  act(input: Input, subject: Subject, call: Call<Scope>): Promise<Result | null>
}

/** A guarded operation as an endpoint. */
export interface GuardedOperation<
  List extends HttpFields,
  Subject extends OwnedSubject,
  Input = ReadOf<List>,
  Scope extends string | null = string,
>
  extends Omit<Endpoint, 'run'>, OperationSteps<Input, Subject, Scope, Reply> {
  /** The fields of the query, if the input is there. */
  readonly query?: List
  /** The fields of the JSON body, if the input is there. */
  readonly body?: List
  /**
   * Reads and validates the input, from the body if there is one, else from the query. Default: the fields, in the order of their
   * list.
   */
  parse?(sent: SentValues, call: Call<Scope>, query: SentValues): Input | Promise<Input>
}

export interface GuardPlan {
  readonly guards: readonly (Guard | null | undefined)[]
  readonly context: Omit<GuardContext, 'request' | 'scope'>
}

/** How often the checks of one request may run. Each repetition means that the subject was replaced in the meantime. */
const MAX_ROUNDS = 5

type NoFields = Readonly<Record<never, never>>

/**
 * Creates an endpoint for signed-in callers from its steps. A caller who is not signed in gets `UNAUTHORIZED`.
 *
 * @example
 * import { guardedEndpoint } from '@svc/db/adapter'
 *
 * const endpoint = guardedEndpoint({
 *   method: 'GET',
 *   path: '/audit/count',
 *   operation: 'audit.count',
 *   describe: () => ({
 *     summary: 'Counts the objects of the caller.',
 *     answer: { status: 200, description: 'The number.', body: { type: 'object' } },
 *     errors: [],
 *   }),
 *   own: () => null,
 *   act: async (_input, _subject, { scope }) => ({ status: 200, body: { count: await store.countByScope(scope) } }),
 * })
 */
export function guardedEndpoint<
  Subject extends OwnedSubject,
  List extends HttpFields = NoFields,
  Input = ReadOf<List>,
>(operation: GuardedOperation<List, Subject, Input>): Endpoint {
  return endpointOf(operation, (exchange) => exchange.resolveScope())
}

/**
 * Creates an endpoint that reads an object. With `admitsAnonymous`, the ownership check decides about callers who are not signed
 * in; otherwise they are refused before the input is read, as by {@link guardedEndpoint}.
 *
 * @example
 * import { readingEndpoint } from '@svc/db/adapter'
 *
 * const endpoint = readingEndpoint(true, {
 *   method: 'GET',
 *   path: '/audit/caller',
 *   operation: 'audit.caller',
 *   describe: () => ({
 *     summary: 'Returns the scope of the caller.',
 *     answer: { status: 200, description: 'The scope.', body: { type: 'object' } },
 *     errors: [],
 *   }),
 *   own: () => null,
 *   act: async (_input, _subject, { scope }) => ({ status: 200, body: { scope } }),
 * })
 */
export function readingEndpoint<
  Subject extends OwnedSubject,
  List extends HttpFields = NoFields,
  Input = ReadOf<List>,
>(admitsAnonymous: boolean, operation: GuardedOperation<List, Subject, Input, string | null>): Endpoint {
  return endpointOf(operation, (exchange) =>
    admitsAnonymous ? exchange.findScope() : exchange.resolveScope(),
  )
}

/** The order of the steps is defined here only: scope, input, ownership, application guards, act. */
function endpointOf<
  List extends HttpFields,
  Subject extends OwnedSubject,
  Input,
  Scope extends string | null,
>(
  operation: GuardedOperation<List, Subject, Input, Scope>,
  scopeOf: (exchange: Exchange) => Promise<Scope>,
): Endpoint {
  const { method, path, query, body } = operation
  return {
    ...{ method, path, operation: operation.operation },
    ...(query && { query }),
    ...(body && { body }),
    describe: () => operation.describe(),
    async run(exchange) {
      const { request, source, baseURL, report, known } = exchange
      const scope = await scopeOf(exchange)
      const call: Call<Scope> = { request, scope, baseURL, known }
      source.query.checkLength()
      const json = body && (await source.json())
      const sent: SentValues = json ? { get: (name) => json[name] } : source.query
      const input = operation.parse
        ? await operation.parse(sent, call, source.query)
        : (readSent(body ?? query ?? {}, sent) as Input)
      return runSteps(operation, input, call, (error) =>
        report(error, { request, operation: operation.operation }),
      )
    },
  }
}

/**
 * Runs the steps of an operation, again and again if the subject is replaced meanwhile. `report` gets unexpected errors of guards.
 * @internal
 */
export async function runSteps<Input, Subject extends OwnedSubject, Scope extends string | null, Result>(
  steps: OperationSteps<Input, Subject, Scope, Result>,
  input: Input,
  call: Call<Scope>,
  report: (error: unknown) => void,
): Promise<Result> {
  const { request, scope, known } = call
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const subject = await steps.own(input, call)
    known.route = subject?.route ?? known.route
    const plan = steps.guard?.(input, subject, call)
    if (plan) await runGuards(plan.guards, { request, scope, ...plan.context }, report)
    const result = await steps.act(input, subject, call)
    if (result) return result
  }
  throw new StorageError('KEY_CONFLICT', {
    message: 'The object was replaced again and again during the request. Try again.',
  })
}
