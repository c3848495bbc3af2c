import type {
  DbClientObject,
  MetadataChanges,
  ObjectMetadata,
  ObjectPage,
  ObjectStatus,
  ScopeUsage,
} from '../core/store/records.js'
import { locate, type ObjectId, type ObjectLocation } from './api-request.js'
import type { CallOptions } from './call-options.js'
import { isCode } from './client-error.js'
import type { ClientPlugin } from './create-client.js'

export interface ListObjectsOptions extends CallOptions {
  /** Default: `active`. */
  readonly status?: ObjectStatus | null | undefined
  /** Page size, 1 to 100. Default: 50. */
  readonly limit?: number | null | undefined
  /** `nextCursor` of the previous page. */
  readonly cursor?: string | null | undefined
  /** Exact name of an upload route. */
  readonly route?: string | null | undefined
}

/** What a user stores, and the limits. A limit that is absent is unlimited. */
export interface UsageAndQuota {
  readonly usage: ScopeUsage
  readonly quota: { readonly maxBytes?: number; readonly maxFiles?: number }
}

export type GetObjectOptions = (ObjectLocation | ObjectId) & CallOptions

export type UpdateObjectOptions = GetObjectOptions & {
  /** Only this version of the object: another one is `OBJECT_NOT_FOUND`. */
  readonly attemptId?: string | null | undefined
  readonly filename?: string | null | undefined
  readonly contentType?: string | null | undefined
  /** Replaces the metadata as a whole. `null` clears it. */
  readonly metadata?: ObjectMetadata | null | undefined
  /** Sets single names of the metadata, and removes those with `null`. Not together with `metadata`. */
  readonly setMetadata?: MetadataChanges | null | undefined
}

/** The records of the signed-in user, as `api.db`. */
export interface DbApi {
  /**
   * Returns one page, newest first. `nextCursor` is set only if there is another page.
   *
   * @example
   * const { objects, nextCursor } = await api.db.listObjects({ limit: 20 })
   */
  readonly listObjects: (options?: ListObjectsOptions) => Promise<ObjectPage<DbClientObject>>
  /**
   * Returns the object with an `id`, or at a `key`: the active one, otherwise the pending one, otherwise `null`.
   *
   * @example
   * const object = await api.db.getObject({ key })
   */
  readonly getObject: (options: GetObjectOptions) => Promise<DbClientObject | null>
  /**
   * Changes an active object, and returns it. Needs `db({ update })` on the server, which says what may change.
   *
   * @example
   * const renamed = await api.db.updateObject({ id, filename: 'Report.pdf' })
   */
  readonly updateObject: (options: UpdateObjectOptions) => Promise<DbClientObject>
  /**
   * Returns the usage and quota of the signed-in user. Needs `db({ usageEndpoint: true })` on the server.
   *
   * @example
   * const { usage, quota } = await api.db.getUsage()
   */
  readonly getUsage: (options?: CallOptions) => Promise<UsageAndQuota>
}

/**
 * Adds `api.db` to the client.
 *
 * @example
 * import { createS3Client, dbClient } from '@svc/db/client'
 *
 * const { api } = createS3Client({ plugins: [dbClient()] })
 */
export function dbClient(): ClientPlugin<'db', DbApi> {
  return {
    id: 'db',
    createApi: (request) => ({
      // Picks the options, because TanStack Query and event listeners pass more.
      listObjects: ({ status, limit, cursor, route, ...options } = {}) =>
        request<ObjectPage<DbClientObject>>('GET', '/db/objects', {
          ...locate(options),
          query: { status, limit, cursor, route },
          answer: 'objects',
        }),

      getObject: async (options) =>
        request<{ object: DbClientObject }>('GET', '/db/object', {
          ...locate(options),
          answer: 'object',
        }).then(
          ({ object }) => object,
          (error: unknown) => {
            if (isCode(error, 'OBJECT_NOT_FOUND')) return null
            throw error
          },
        ),

      updateObject: async ({ attemptId, filename, contentType, metadata, setMetadata, ...options }) => {
        const { object } = await request<{ object: DbClientObject }>('PATCH', '/db/object', {
          ...locate(options),
          body: { attemptId, filename, contentType, metadata, setMetadata },
          answer: 'object',
        })
        return object
      },

      getUsage: (options = {}) =>
        request<UsageAndQuota>('GET', '/db/usage', { ...locate(options), query: {}, answer: 'usage' }),
    }),
  }
}
