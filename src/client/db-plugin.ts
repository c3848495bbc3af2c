import type { DbClientObject, ObjectPage, ObjectStatus } from '../core/store/records.js'
import type { ClientPlugin } from './client-plugin.js'
import { S3ClientError } from './client-error.js'

export interface ListObjectsOptions {
  /** Default: `active`. */
  readonly status?: ObjectStatus | null | undefined
  /** Objects in a page, 1..100. Default: 50. */
  readonly limit?: number | null | undefined
  /** `nextCursor` of the page before. */
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
  /** One page, newest first; `nextCursor` is there only when another page is. */
  readonly listObjects: (options?: ListObjectsOptions) => Promise<ObjectPage<DbClientObject>>
  /** The active object at a key, else the pending one; `null` only where the server says that there is none. */
  readonly getObject: (options: GetObjectOptions) => Promise<DbClientObject | null>
}

/** Adds `api.db`. */
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
