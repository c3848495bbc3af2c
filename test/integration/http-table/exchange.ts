import { expect } from 'vitest'
import { openApiDocument, type ErrorBody, type ErrorCode } from '@svc/db'
import { documentValidator } from '../openapi/document-validator.js'
import { sharingServer, USER_HEADER } from './fixture.js'

/** All servers in these tests have these endpoints, some without `GET /db/usage`. */
const validator = documentValidator(openApiDocument(sharingServer()))

export interface ExchangeRequest {
  /** Method and path below the base path, such as `GET /db/objects`. */
  readonly request: string
  /** The user; `null` for an unauthenticated request. Default `user:1`. */
  readonly as?: string | null
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

export interface ExchangeResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** Sends a request and checks what applies to every response of the library. */
export async function exchange(
  baseURL: string,
  { request, as, json, headers, body }: ExchangeRequest,
): Promise<ExchangeResponse> {
  const [method = '', path = ''] = request.split(/ (.*)/s)
  const user = as === undefined ? 'user:1' : as
  const response = await fetch(baseURL + path, {
    method,
    // The redirects of `GET /file` lead to the storage.
    redirect: 'manual',
    headers: {
      ...(user !== null && { [USER_HEADER]: user }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(body !== undefined && { body }),
  })
  const text = await response.text()
  expect(response.headers.get('cache-control')).toBe('private, no-store')
  const describesFile = method === 'HEAD' && path.startsWith('/file') && response.ok
  if (text !== '' || (method === 'HEAD' && !describesFile)) {
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  }
  if (method === 'HEAD') expect(text).toBe('')
  const result = { status: response.status, headers: response.headers, text, json: parsed(text) }
  expect(validator.violationOf({ method, path, status: result.status, json: result.json })).toBeNull()
  if (result.status >= 400 && method !== 'HEAD') expectErrorBody(result)
  return result
}

function parsed(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text)
}

/** Expects a code, a message, and optional params, without internal details. */
function expectErrorBody({ json, text }: ExchangeResponse): void {
  const { code, message, params, ...rest } = json as ErrorBody
  expect(code).toMatch(/^[A-Z_]+$/)
  expect(message).toMatch(/\.$/)
  expect(params === undefined || typeof params === 'object').toBe(true)
  expect(rest).toEqual({})
  expect(text).not.toMatch(/internal|stack|node_modules/)
}

/** Matches an error body with this code and, if set, this invalid field. */
export function errorOf(code: ErrorCode, field?: string): unknown {
  return expect.objectContaining({ code, ...(field !== undefined && { params: { field } }) })
}
