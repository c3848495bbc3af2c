import { expect } from 'vitest'
import { openApiDocument, type ErrorBody, type OpenApiOperation } from '@svc/db'
import type { JsonSchema } from '@svc/db/adapter'
import { Caller, startService, type ServiceOptions } from '../../unit/server/service.js'
import { documentValidator } from './document-validator.js'

const document = openApiDocument(startService({ usageEndpoint: true }).s3)
const validator = documentValidator(document)
/** Every success and error observed in a response, such as `upload 201` and `upload KEY_CONFLICT`. */
export const seen = new Set<string>()

/** Starts a service that validates every response against the document, and records it in {@link seen}. */
export function observed(options: ServiceOptions = {}) {
  const service = startService({ usageEndpoint: true, ...options })
  const handler = async (request: Request) => {
    const response = await service.s3.handler(request)
    const { pathname, search } = new URL(request.url)
    const path = pathname.slice(service.s3.basePath.length)
    if (path.startsWith('/_storage')) return response
    const text = await response.clone().text()
    const json: unknown = text === '' ? undefined : JSON.parse(text)
    const { method } = request
    const { status } = response
    expect(
      validator.violationOf({ method, path: path + search, status, json }),
      `${method} ${path} ${text}`,
    ).toBeNull()
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (operation && method !== 'HEAD')
      seen.add(`${operation.operationId} ${status >= 400 ? (json as ErrorBody).code : status}`)
    return response
  }
  return { ...service, as: (scope: string | null) => new Caller(handler, scope) }
}

/** Returns every success and error in the document, in the form of {@link seen}. */
export function documented(): string[] {
  const operations: OpenApiOperation[] = Object.values(document.paths).flatMap((methods) =>
    // A response to HEAD has no code.
    Object.entries(methods).flatMap(([method, operation]) => (method === 'head' ? [] : [operation])),
  )
  return operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, response]) =>
      Number(status) < 400
        ? [`${operationId} ${status}`]
        : codesOf(response).map((code) => `${operationId} ${code}`),
    ),
  )
}

function codesOf(response: JsonSchema): string[] {
  const { content } = response as unknown as {
    content: { 'application/json': { schema: { properties: { code: { enum: string[] } } } } }
  }
  return content['application/json'].schema.properties.code.enum
}
