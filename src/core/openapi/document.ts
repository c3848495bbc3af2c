import { ERROR_CODES, StorageError, type ErrorCode } from '../errors.js'
import type { Endpoint } from '../http/endpoint.js'
import type { EndpointDescription, JsonSchema, JsonValue } from '../http/endpoint-description.js'
import { tableOf, type Handler } from '../http/handler.js'
import { OBJECT_SCHEMA, withProperties } from './schemas.js'

export interface OpenApiOptions {
  /** What the API is called. Default `Object storage`. */
  readonly title?: string | null | undefined
  /** Of your API. Default `1`. */
  readonly version?: string | null | undefined
  /** What stands before the base path in the URLs of clients, such as `https://app.example`. Default: nothing, so that it is where the document is. */
  readonly serverURL?: string | null | undefined
}

/** An OpenAPI 3.1 document: plain JSON, to be served, printed, or completed by what the application knows, such as `security`. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  /** By path below the base path, and by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export interface OpenApiOperation {
  /** What `onError` is told of it. */
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly JsonSchema[]
  readonly requestBody?: JsonSchema
  /** By status. */
  readonly responses: Readonly<Record<string, JsonSchema>>
}

const DESCRIPTION =
  'Objects of a bucket, recorded by their owner. Who calls is found out by the application. ' +
  'HEAD is answered as GET without a body. A guard of the application may answer any of the errors.'

/** What every endpoint may answer. */
const ERRORS_OF_ALL: readonly ErrorCode[] = ['UNAUTHORIZED', 'INTERNAL_ERROR', 'DATABASE_UNAVAILABLE']

/**
 * Describes the endpoints of a server, or of a `db()` that stands alone: just those that it has, from the table that its
 * router works by.
 *
 * @throws TypeError for what `createS3Server` or `db` did not make.
 */
export function openApiDocument(
  s3: { readonly handler: Handler },
  options: OpenApiOptions = {},
): OpenApiDocument {
  const table = tableOf(s3?.handler)
  if (!table) {
    throw new TypeError(
      'openApiDocument: the first argument must be a server of createS3Server(), or a db().',
    )
  }
  const { title, version, serverURL } = options
  const url = (serverURL ?? '').replace(/\/+$/, '') + table.basePath
  return {
    openapi: '3.1.0',
    info: { title: title ?? 'Object storage', version: version ?? '1', description: DESCRIPTION },
    servers: [{ url: url === '' ? '/' : url }],
    paths: pathsOf(table.endpoints),
    components: { schemas: { Object: OBJECT_SCHEMA, Error: errorSchema() } },
  }
}

function pathsOf(endpoints: readonly Endpoint[]): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const endpoint of endpoints) {
    const operations = (paths[endpoint.path] ??= {})
    operations[endpoint.method.toLowerCase()] = operationOf(endpoint.operation, endpoint.describe())
  }
  return paths
}

function operationOf(
  operationId: string,
  { summary, query, body, answer, errors }: EndpointDescription,
): OpenApiOperation {
  const parameters = Object.entries(query ?? {}).map(([name, parameter]) => ({
    name,
    in: 'query',
    ...parameter,
  }))
  return {
    operationId,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(body) } }),
    responses: {
      [answer.status]: {
        description: answer.description,
        ...(answer.status !== 204 && { content: json(answer.body) }),
      },
      ...errorResponses([...errors, ...ERRORS_OF_ALL]),
    },
  }
}

/** OpenAPI knows one response a status, and several errors may share one. */
function errorResponses(codes: readonly ErrorCode[]): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {}
  for (const { status } of codes.map((code) => new StorageError(code))) {
    const ofStatus = codes.filter((code) => new StorageError(code).status === status)
    responses[status] = {
      description: ofStatus.map((code) => new StorageError(code).message).join(' Or: '),
      content: json({ $ref: '#/components/schemas/Error', properties: { code: { enum: ofStatus } } }),
      ...(status === 503 && {
        headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } },
      }),
    }
  }
  return responses
}

function json(schema: JsonSchema): { readonly [type: string]: JsonValue } {
  return { 'application/json': { schema } }
}

function errorSchema(): JsonSchema {
  return withProperties(
    {
      code: { type: 'string', enum: ERROR_CODES, description: 'Stable.' },
      message: { type: 'string', description: 'May change.' },
      params: {
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean'] },
        description: 'Such as `field`, the parameter at fault.',
      },
    },
    ['params'],
  )
}
