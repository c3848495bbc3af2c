import { ERROR_CODES, StorageError, type ErrorCode } from '../errors.js'
import { MAX_QUERY_BYTES } from '../http/query.js'
import type { HttpFields } from '../http/fields.js'
import type { Endpoint } from '../http/endpoint.js'
import { tableOf, withoutTrailingSlash, type Handler } from '../http/handler.js'
import type { JsonSchema, JsonValue } from '../json.js'
import { namesOf } from '../known-names.js'
import { OptionChecks } from '../option-checks.js'
import { nullable, OBJECT_SCHEMA, SIGNED_URL, withProperties } from './schemas.js'

export interface OpenApiOptions {
  /** Title of the API. Default `Object storage`. */
  readonly title?: string | null | undefined
  /** Version of your API. Default `1`. */
  readonly version?: string | null | undefined
  /** Origin of the API, such as `https://app.example`. Default: relative to the document. */
  readonly serverURL?: string | null | undefined
}

/** An OpenAPI 3.1 document as plain JSON. Add what only your application knows, such as `security`, and serve it. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  /** By path below the base path, then by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export interface OpenApiOperation {
  /** The operation's name in `onError` and `onOperation`; with `.head` for `HEAD`. */
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly JsonSchema[]
  readonly requestBody?: JsonSchema
  /** By status. */
  readonly responses: Readonly<Record<string, JsonSchema>>
}

const DESCRIPTION =
  'Objects of a bucket, recorded per owner. The application authenticates the caller. ' +
  `HEAD works like GET, without a body, except where it is listed. A query has at most ${MAX_QUERY_BYTES} bytes. ` +
  'A guard of the application may return any of the errors.'

/** Every endpoint may return these; `VALIDATION_ERROR` for a query that is too long. */
const ERRORS_OF_ALL: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'VALIDATION_ERROR',
  'INTERNAL_ERROR',
  'DATABASE_UNAVAILABLE',
]

const OPTIONS = namesOf<OpenApiOptions>({ title: true, version: true, serverURL: true })
const checks = new OptionChecks('openApiDocument')

/**
 * Returns the OpenAPI document of a server, or of a `db()` used on its own. It lists exactly the endpoints in the router's
 * table.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`, or if an option is invalid.
 *
 * @example
 * import { openApiDocument } from '@svc/db'
 *
 * const document = openApiDocument(s3, { title: 'Files', version: '1.0.0' })
 */
export function openApiDocument(
  s3: { readonly handler: Handler },
  options?: OpenApiOptions | null,
): OpenApiDocument {
  const table = tableOf(s3?.handler)
  if (!table) {
    throw checks.error('the first argument must be the result of createS3Server() or db().')
  }
  const { title, version, serverURL } = checks.optionalOptions(options, OPTIONS)
  for (const [name, value] of Object.entries({ title, version, serverURL })) checks.string(name, value)
  const url = withoutTrailingSlash(serverURL ?? '') + table.basePath
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
    operations[endpoint.method.toLowerCase()] = operationOf(endpoint)
  }
  return paths
}

function operationOf(endpoint: Endpoint): OpenApiOperation {
  const { method, operation, query, body } = endpoint
  const { summary, answer, errors } = endpoint.describe()
  return {
    operationId: method === 'HEAD' ? `${operation}.head` : operation,
    summary,
    ...(query && { parameters: parametersOf(query) }),
    ...(body && { requestBody: { required: true, content: json(bodySchemaOf(body)) } }),
    responses: {
      [answer.status]: {
        description: answer.description,
        ...('body' in answer && answer.body && { content: json(answer.body) }),
        ...(answer.status === 302 && {
          headers: { Location: { description: answer.description, schema: SIGNED_URL } },
        }),
      },
      ...errorResponses([...new Set([...errors, ...ERRORS_OF_ALL])]),
    },
  }
}

function parametersOf(query: HttpFields): readonly JsonSchema[] {
  return requiredFirst(query).map(([name, { isRequired, description, schema }]) => ({
    ...{ name, in: 'query' },
    ...(description !== undefined && { description }),
    ...(isRequired && { required: true }),
    schema,
  }))
}

function bodySchemaOf(body: HttpFields): JsonSchema {
  const properties = requiredFirst(body).map(([name, field]) => {
    const description = [field.description, field.schema['description'] as string | undefined]
      .filter(Boolean)
      .join(' ')
    const schema = { ...field.schema, ...(description !== '' && { description }) }
    return [name, field.isRequired ? schema : nullable(schema)] as const
  })
  const optional = Object.keys(body).filter((name) => !body[name]!.isRequired)
  return withProperties(Object.fromEntries(properties), optional)
}

function requiredFirst(list: HttpFields) {
  return Object.entries(list).sort(([, a], [, b]) => Number(b.isRequired) - Number(a.isRequired))
}

/** Groups error codes by status, because OpenAPI allows one response per status. */
function errorResponses(codes: readonly ErrorCode[]): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {}
  for (const { status } of codes.map((code) => new StorageError(code))) {
    const ofStatus = codes.filter((code) => new StorageError(code).status === status)
    responses[status] = {
      description: ofStatus.map((code) => new StorageError(code).message).join(' Or: '),
      content: json({ $ref: '#/components/schemas/Error', properties: { code: { enum: ofStatus } } }),
      ...(status === 503 && {
        headers: {
          'Retry-After': {
            description: 'Seconds. Absent if retrying does not help until an operator acts.',
            schema: { type: 'integer' },
          },
        },
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
      code: { type: 'string', enum: ERROR_CODES, description: 'Stable across versions.' },
      message: { type: 'string', description: 'For people. May change between versions.' },
      params: {
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean'] },
        description: 'Details, such as `field`: the name of the invalid parameter.',
      },
    },
    ['params'],
  )
}
