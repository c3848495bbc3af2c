import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument, OpenApiOperation } from '@svc/db'
import type { JsonSchema } from '@svc/db/adapter'

export interface ReceivedResponse {
  readonly method: string
  /** The requested path below the base path, with its query. */
  readonly path: string
  readonly status: number
  readonly json: unknown
}

/** Validates requests and responses against an OpenAPI document. */
export interface DocumentValidator {
  /** Describes how a response violates the document, or returns `null`. */
  violationOf(response: ReceivedResponse): string | null
  /** Returns whether the document allows this request body. */
  acceptsBody(path: string, body: unknown): boolean
}

const FORMATS = {
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  uuid: /^[0-9a-f-]{36}$/,
  uri: (text: string) => URL.canParse(text),
}

export function documentValidator(document: OpenApiDocument): DocumentValidator {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, formats: FORMATS })
  ajv.addVocabulary(['components'])
  // The document allows additional properties, for later releases. This release must not return any.
  ajv.addSchema({ $id: 'document', components: closed(document.components) as object })
  const compiled = new Map<JsonSchema, ValidateFunction>()

  function validatorOf(schema: JsonSchema): ValidateFunction {
    let validate = compiled.get(schema)
    if (!validate) compiled.set(schema, (validate = ajv.compile(withReferences(schema) as object)))
    return validate
  }

  const closedSchemas = new Map<JsonSchema, JsonSchema>()
  function closedOnce(schema: JsonSchema): JsonSchema {
    const known = closedSchemas.get(schema) ?? (closed(schema) as JsonSchema)
    closedSchemas.set(schema, known)
    return known
  }

  function bodyViolation(response: JsonSchema, json: unknown): string | null {
    const content = response['content'] as { 'application/json': { schema: JsonSchema } } | undefined
    if (!content) return json === undefined ? null : 'the response must not have a body'
    const validate = validatorOf(closedOnce(content['application/json'].schema))
    return validate(json) ? null : ajv.errorsText(validate.errors)
  }

  return {
    violationOf({ method, path, status, json }) {
      const [pathname = ''] = path.replace(/\/(?=\?|$)/, '').split('?')
      const operations = document.paths[pathname]
      if (!operations) return status === 404 ? null : 'the path is unknown, so the status must be 404'
      const operation =
        operations[method.toLowerCase()] ?? (method === 'HEAD' ? operations['get'] : undefined)
      if (!operation) return status === 405 ? null : 'the method is not described, so the status must be 405'
      const response = operation.responses[status]
      if (!response) return `the status ${status} is not described`
      return method === 'HEAD' ? null : bodyViolation(response, json)
    },
    acceptsBody(path, body) {
      const operation = document.paths[path]?.['post'] as OpenApiOperation
      const { content } = operation.requestBody as { content: { 'application/json': { schema: JsonSchema } } }
      return validatorOf(content['application/json'].schema)(body)
    },
  }
}

/** Rewrites references to the id under which the document is registered. */
function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === '$ref' ? `document${String(inner)}` : withReferences(inner),
    ]),
  )
}

/** Closes schemas: objects may only have the named properties. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)]))
  const names = 'type' in inner && inner['type'] === 'object' && 'properties' in inner
  return names ? { ...inner, additionalProperties: false } : inner
}
