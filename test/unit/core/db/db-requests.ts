import { db, type DbClientObject, type DbOptions, type ErrorBody, type StorageObjectStore } from '@svc/db'

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface ObjectList {
  readonly objects: readonly DbClientObject[]
  readonly nextCursor?: string
}

/** Creates a request of the given user, or of no user. */
export function requestOf(user: string | null, path: string, method = 'GET'): Request {
  const headers: Record<string, string> = user === null ? {} : { 'x-user': user }
  return new Request(`http://localhost${path}`, { method, headers })
}

export const resolveUser = (request: Request) => request.headers.get('x-user')

/** Sends requests to the endpoints of a plugin over this store, by default as user:1. */
export function requester(client: StorageObjectStore, options: Partial<DbOptions> = {}) {
  const plugin = db({ client, resolveScope: resolveUser, bucket: 'photos', ...options })
  return async function ask(
    path: string,
    { user = 'user:1', method = 'GET' }: { user?: string | null; method?: string } = {},
  ): Promise<ApiResponse> {
    const response = await plugin.handler(requestOf(user, path, method))
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }
}

export function listOf({ body }: ApiResponse): ObjectList {
  return body as ObjectList
}

export function errorOf({ body }: ApiResponse): ErrorBody {
  return body as ErrorBody
}
