import type { DbClientObject, ObjectPage, ObjectStatus } from '../core/store/records.js'
import { S3ClientError } from './client-error.js'
import type { ClientPlugin } from './create-client.js'

export interface ListObjectsOptions {
  /** Default: `active`. */
  readonly status?: ObjectStatus | null | undefined
  /** Page size, 1 to 100. Default: 50. */
  readonly limit?: number | null | undefined
  /** `nextCursor` of the previous page. */
  readonly cursor?: string | null | undefined
  /** Exact name of an upload route. */
  readonly route?: string | null | undefined
  readonly signal?: AbortSignal | null | undefined
}

export interface GetObjectOptions {
  readonly key: string
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
  readonly signal?: AbortSignal | null | undefined
}

/** The records of the signed-in user, as `api.db`. */
export interface DbApi {
  /** Returns one page, newest first. `nextCursor` is set only if there is another page. */
  readonly listObjects: (options?: ListObjectsOptions) => Promise<ObjectPage<DbClientObject>>
  /** Returns the active object at a key, otherwise the pending one, otherwise `null`. */
  readonly getObject: (options: GetObjectOptions) => Promise<DbClientObject | null>
}

/** Adds `api.db` to the client. */
export function dbClient(): ClientPlugin<'db', DbApi> {
  return {
    id: 'db',
    createApi: (request) => ({
      listObjects: ({ status, limit, cursor, route, signal } = {}) =>
        request<ObjectPage<DbClientObject>>('GET', '/db/objects', {
          query: { status, limit, cursor, route },
          answer: 'objects',
          signal,
        }),

      async getObject({ key, bucket, signal }) {
        try {
          const { object } = await request<{ object: DbClientObject }>('GET', '/db/object', {
            query: { key, bucket },
            answer: 'object',
            signal,
          })
          return object
        } catch (error) {
          if (error instanceof S3ClientError && error.code === 'OBJECT_NOT_FOUND') return null
          throw error
        }
      },
    }),
  }
}
