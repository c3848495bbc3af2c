import type { DbClientObject } from '../core/store/records.js'
import { abortableFetch } from './abortable-fetch.js'
import { createApiRequest, type ApiAccess } from './api-request.js'
import { unanswered } from './client-error.js'
import type { ClientPlugin, PluginApis } from './client-plugin.js'
import type { UploadOptions } from './upload/upload-options.js'

export interface S3ClientOptions<Plugins extends readonly ClientPlugin[]> {
  /** Path of the API on its server. Default: `/api/s3`. */
  readonly basePath?: string | null | undefined
  /** What stands before `basePath`, such as `https://files.example.com`. Default: the page's own origin. */
  readonly baseURL?: string | null | undefined
  /** Such as `[dbClient()]`; what isn't in the list isn't in `api`. */
  readonly plugins: Plugins
  /** Default: the global `fetch`. Signed URLs go through it too where there is no `XMLHttpRequest`. */
  readonly fetch?: typeof globalThis.fetch | null | undefined
  /** Sent with every call of the API, never to signed URLs. A function is asked anew for each call. */
  readonly headers?: ApiAccess['headers']
  /** Whether cookies go to the API of another origin; never to signed URLs there. Default: that of `fetch`. */
  readonly credentials?: RequestCredentials | null | undefined
}

export interface ObjectLocation {
  readonly key: string
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
}

export interface DownloadLink {
  /** Works without further credentials until `expiresAt`. */
  readonly url: string
  /** ISO 8601, UTC. */
  readonly expiresAt: string
}

/** What every client can do. All methods reject with {@link S3ClientError}. */
export interface S3Api {
  /**
   * Uploads a file straight to the bucket and resolves to its record once the server has verified it.
   *
   * From 16 MiB on it goes in parts, of which those that fail are sent again, unless the server has that off. If the page is
   * reloaded in the middle, or the network lost for more than some seconds, the ids of such an upload are kept (in
   * `localStorage`), and uploading the same file with the same options sends only what is missing. A `Blob` that is no
   * `File` has nothing to be known by, and isn't kept.
   *
   * Any other call that is aborted or fails ends the attempt at the server, so that it costs no quota. Aborted while the
   * server is confirming, it resolves all the same if the object was there before the attempt could be ended.
   */
  readonly upload: (file: Blob, options?: UploadOptions) => Promise<DbClientObject>
  /** A URL for one active object. */
  readonly download: (object: ObjectLocation) => Promise<DownloadLink>
  /** Deletes an object. What is gone already is `OBJECT_NOT_FOUND`. */
  readonly delete: (object: ObjectLocation) => Promise<void>
}

export interface S3Client<Plugins extends readonly ClientPlugin[]> {
  readonly api: S3Api & PluginApis<Plugins>
  /** The same object as `api`, every time: it may be called from a component. */
  readonly useApi: () => S3Api & PluginApis<Plugins>
}

export function createS3Client<const Plugins extends readonly ClientPlugin[]>(
  options: S3ClientOptions<Plugins>,
): S3Client<Plugins> {
  const { basePath, baseURL, plugins, headers, credentials } = options
  const base = withoutEndingSlash(baseURL ?? '') + withoutEndingSlash(basePath ?? '/api/s3')
  const fetch = abortableFetch(options.fetch)
  const request = createApiRequest({ base, fetch, headers, credentials })
  const own: S3Api = {
    async upload(file, options = {}) {
      // Loaded when it is first used: a page that only lists objects stays small.
      const { upload } = await import('./upload/upload.js').catch((cause: unknown) => {
        throw unanswered(options.signal, cause)
      })
      return upload({ base, request, fetch }, file, options)
    },
    download: ({ key, bucket }) =>
      request<DownloadLink>('GET', '/download', { query: { key, bucket }, answer: 'url' }),
    delete: ({ key, bucket }) => request('DELETE', '/object', { query: { key, bucket } }),
  }
  const added = Object.fromEntries(plugins.map(({ id, createApi }) => [id, createApi(request)]))
  const api = { ...own, ...added } as S3Api & PluginApis<Plugins>
  return { api, useApi: () => api }
}

function withoutEndingSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
