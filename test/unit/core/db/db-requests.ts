import { db, type DbClientObject, type DbOptions, type ErrorBody, type StorageObjectStore } from '@svc/db'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface ObjectList {
  readonly objects: readonly DbClientObject[]
  readonly nextCursor?: string
}

/** A request of the user whose name is in the header; of nobody without a name. */
export function requestOf(user: string | null, path: string, method = 'GET'): Request {
  const headers: Record<string, string> = user === null ? {} : { 'x-user': user }
  return new Request(`http://localhost${path}`, { method, headers })
}

export const resolveUser = (request: Request) => request.headers.get('x-user')

/** Asks the endpoints of a plugin over this store, as user:1 unless another is named. */
export function asker(client: StorageObjectStore, options: Partial<DbOptions> = {}) {
  const plugin = db({ client, resolveScope: resolveUser, bucket: 'photos', ...options })
  return async function ask(
    path: string,
    { user = 'user:1', method = 'GET' }: { user?: string | null; method?: string } = {},
  ): Promise<Answer> {
    const response = await plugin.handler(requestOf(user, path, method))
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }
}

export function listOf({ body }: Answer): ObjectList {
  return body as ObjectList
}

export function errorOf({ body }: Answer): ErrorBody {
  return body as ErrorBody
}
