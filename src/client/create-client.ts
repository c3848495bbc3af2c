import type { DbClientObject } from '../core/store/records.js'
import { abortableFetch, createApiRequest, type ApiAccess, type ApiRequest } from './api-request.js'
import { withoutResponse } from './client-error.js'
import type { UploadOptions } from './upload/upload-request.js'

/** Adds methods to the client as `api[id]`. */
export interface ClientPlugin<Id extends string = string, Api extends object = object> {
  readonly id: Id
  readonly createApi: (request: ApiRequest) => Api
}

/** The methods that a list of plugins adds to `api`. */
export type PluginApis<Plugins extends readonly ClientPlugin[]> = {
  readonly [Plugin in Plugins[number] as Plugin['id']]: ReturnType<Plugin['createApi']>
}

export interface S3ClientOptions<Plugins extends readonly ClientPlugin[]> {
  /** Path of the API on its server. Default: `/api/s3`. */
  readonly basePath?: string | null | undefined
  /** URL that `basePath` is appended to, such as `https://files.example.com`. Default: the page's origin. */
  readonly baseURL?: string | null | undefined
  /** Plugins that add methods to `api`, such as `[dbClient()]`. */
  readonly plugins: Plugins
  /** Default: the global `fetch`. Also used for signed URLs if there is no `XMLHttpRequest`. */
  readonly fetch?: typeof globalThis.fetch | null | undefined
  /** Sent with every API call, never to signed URLs. A function is called for each API call. */
  readonly headers?: ApiAccess['headers']
  /** Whether to send cookies to an API on another origin. Never applies to signed URLs. Default: that of `fetch`. */
  readonly credentials?: RequestCredentials | null | undefined
}

export interface ObjectLocation {
  readonly key: string
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
}

export interface DownloadLink {
  /** Valid without other credentials until `expiresAt`. */
  readonly url: string
  /** ISO 8601, UTC. */
  readonly expiresAt: string
}

/** The methods of every client. All of them reject with {@link S3ClientError}. */
export interface S3Api {
  /**
   * Uploads a file straight to the bucket. Resolves to its record once the server has verified it.
   *
   * Files of 16 MiB or more are uploaded in parts, unless the server turns this off. Failed parts are retried. If a reload
   * or a longer network failure interrupts the upload, its ids stay in `localStorage`, and uploading the same file with the
   * same options sends only the missing parts. A `Blob` that is not a `File` can't be resumed.
   *
   * In all other cases, an upload that fails or is aborted is ended at the server, which releases its quota. If the server
   * confirms the object before the abort arrives, the upload resolves.
   */
  readonly upload: (file: Blob, options?: UploadOptions) => Promise<DbClientObject>
  /** Returns a download URL for an active object. */
  readonly download: (object: ObjectLocation) => Promise<DownloadLink>
  /** Deletes an object. Rejects with `OBJECT_NOT_FOUND` if it no longer exists. */
  readonly delete: (object: ObjectLocation) => Promise<void>
}

export interface S3Client<Plugins extends readonly ClientPlugin[]> {
  readonly api: S3Api & PluginApis<Plugins>
  /** Returns `api`, always the same object, for use in components. */
  readonly useApi: () => S3Api & PluginApis<Plugins>
}

/** Creates a browser client for the API of `createS3Server`. */
export function createS3Client<const Plugins extends readonly ClientPlugin[]>(
  options: S3ClientOptions<Plugins>,
): S3Client<Plugins> {
  const { basePath, baseURL, plugins, headers, credentials } = options
  const base = withoutTrailingSlash(baseURL ?? '') + withoutTrailingSlash(basePath ?? '/api/s3')
  const fetch = abortableFetch(options.fetch)
  const request = createApiRequest({ base, fetch, headers, credentials })
  const own: S3Api = {
    async upload(file, options = {}) {
      // Loaded with the first upload, to keep pages that don't upload small.
      const { upload } = await import('./upload/upload.js').catch((cause: unknown) => {
        throw withoutResponse(options.signal, cause)
      })
      return upload({ base, request, fetch }, file, options)
    },
    download: ({ key, bucket }) =>
      request<DownloadLink>('GET', '/download', { query: { key, bucket }, answer: 'url' }),
    delete: ({ key, bucket }) => request('DELETE', '/object', { query: { key, bucket } }),
  }
  const fromPlugins = Object.fromEntries(plugins.map(({ id, createApi }) => [id, createApi(request)]))
  const api = { ...own, ...fromPlugins } as S3Api & PluginApis<Plugins>
  return { api, useApi: () => api }
}

function withoutTrailingSlash(url: string): string {
  let end = url.length
  while (url[end - 1] === '/') end--
  return url.slice(0, end)
}
