import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { JsonSchema, OpenApiDocument, OpenApiOperation } from '@svc/db'

export interface GivenAnswer {
  readonly method: string
  /** Below the base path, with its query, as it was asked for. */
  readonly path: string
  readonly status: number
  readonly json: unknown
}

/** Holds answers against what a document says of them. */
export interface DescribedAnswers {
  /** What the document says against an answer, in words; `null`: nothing. */
  flawOf(answer: GivenAnswer): string | null
  /** Whether the document takes this for the body of a request. */
  takesBody(path: string, body: unknown): boolean
}

const FORMATS = {
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  uuid: /^[0-9a-f-]{36}$/,
  uri: (text: string) => URL.canParse(text),
}

export function describedAnswers(document: OpenApiDocument): DescribedAnswers {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, formats: FORMATS })
  ajv.addVocabulary(['components'])
  // The document leaves room for what a later release may add; an answer of this one has nothing that it doesn't name.
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

  function flawOfBody(response: JsonSchema, json: unknown): string | null {
    const content = response['content'] as { 'application/json': { schema: JsonSchema } } | undefined
    if (!content) return json === undefined ? null : 'it has a body, and must have none'
    const validate = validatorOf(closedOnce(content['application/json'].schema))
    return validate(json) ? null : ajv.errorsText(validate.errors)
  }

  return {
    flawOf({ method, path, status, json }) {
      const [pathname = ''] = path.split('?')
      const operations = document.paths[pathname]
      if (!operations) return status === 404 ? null : 'its path is unknown, so it must be 404'
      const operation = operations[(method === 'HEAD' ? 'GET' : method).toLowerCase()]
      if (!operation) return status === 405 ? null : 'its method is not described, so it must be 405'
      const response = operation.responses[status]
      if (!response) return `its status ${status} is not described`
      return method === 'HEAD' ? null : flawOfBody(response, json)
    },
    takesBody(path, body) {
      const operation = document.paths[path]?.['post'] as OpenApiOperation
      const { content } = operation.requestBody as { content: { 'application/json': { schema: JsonSchema } } }
      return validatorOf(content['application/json'].schema)(body)
    },
  }
}

/** References of the document as the validator finds them: by the name that the document has there. */
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

/** The same schemas, of which each object has the properties that are named and no others. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)]))
  const names = 'type' in inner && inner['type'] === 'object' && 'properties' in inner
  return names ? { ...inner, additionalProperties: false } : inner
}
