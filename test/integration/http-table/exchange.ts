import { expect } from 'vitest'
import { openApiDocument, type ErrorBody, type ErrorCode } from '@svc/db'
import { describedAnswers } from '../openapi/described-answers.js'
import { serverWithObjects, USER_HEADER } from './fixture.js'

/** Every server of the table has the same endpoints. */
const described = describedAnswers(openApiDocument(serverWithObjects()))

export interface Ask {
  /** Method and path below the base path, such as `GET /db/objects`. */
  readonly request: string
  /** `null`: nobody is signed in. Default `user:1`. */
  readonly as?: string | null
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** Asks, and checks what holds for every answer of the library. */
export async function exchange(baseURL: string, { request, as, json, headers, body }: Ask): Promise<Answer> {
  const [method = '', path = ''] = request.split(/ (.*)/s)
  const user = as === undefined ? 'user:1' : as
  const response = await fetch(baseURL + path, {
    method,
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
  if (text !== '' || method === 'HEAD') {
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  }
  if (method === 'HEAD') expect(text).toBe('')
  const answer = { status: response.status, headers: response.headers, text, json: parsed(text) }
  expect(described.flawOf({ method, path, status: answer.status, json: answer.json })).toBeNull()
  if (answer.status >= 400 && method !== 'HEAD') expectErrorBody(answer)
  return answer
}

function parsed(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text)
}

/** Code, message and perhaps params: nothing else, and nothing of what is inside. */
function expectErrorBody({ json, text }: Answer): void {
  const { code, message, params, ...rest } = json as ErrorBody
  expect(code).toMatch(/^[A-Z_]+$/)
  expect(message).toMatch(/\.$/)
  expect(params === undefined || typeof params === 'object').toBe(true)
  expect(rest).toEqual({})
  expect(text).not.toMatch(/internal|stack|node_modules/)
}

/** An error body with this code, and with the name of the parameter that is at fault. */
export function errorOf(code: ErrorCode, field?: string): unknown {
  return expect.objectContaining({ code, ...(field !== undefined && { params: { field } }) })
}
