import type { DbClientObject } from '../core/store/records.js'
import { type Account, knownAccount } from './account.js'
import {
  addressOf,
  type ApiAccess,
  type ApiRequest,
  createApiRequest,
  locate,
  type ObjectId,
  type ObjectLocation,
  withoutTrailingSlash,
  withQuery,
} from './api-request.js'
import { type CallOptions, limited } from './call-options.js'
import { S3ClientError } from './client-error.js'
import { attachContext } from './client-parts.js'
import type { UploadContext, UploadOptions } from './upload/upload-request.js'
import type { SettledUploads, UnfinishedUpload } from './upload/unfinished.js'
import type * as uploadCode from './upload/upload.js'

type UploadCode = typeof uploadCode

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
  /**
   * Who is signed in, such as a user id, or a synchronous function that returns it. The browser stores the unfinished uploads
   * of each account separately, so people who share a browser can't end or resume each other's uploads. `null`: no user is
   * signed in. Uploads without a user are stored separately too. Default: `null`.
   */
  readonly account?: Account
  /**
   * Sends all requests, including those to signed URLs. Default: the global `fetch`, and `XMLHttpRequest` for uploads, because
   * only it reports progress in bytes.
   */
  readonly fetch?: typeof globalThis.fetch | null | undefined
  /** Sent with every API call, never to signed URLs. A function is called for each API call. */
  readonly headers?: ApiAccess['headers']
  /** Whether to send cookies to an API on another origin. Never applies to signed URLs. Default: that of `fetch`. */
  readonly credentials?: RequestCredentials | null | undefined
  /**
   * Ends a request that makes no progress for so long, a number above 0, as if its response had been lost. Sending a large body
   * and reading it at the bucket take longer, and get more time. Default: 30.
   */
  readonly stallSeconds?: number | null | undefined
}

export interface DownloadLink {
  /** Valid without other credentials until `expiresAt`. */
  readonly url: string
  /** ISO 8601, UTC. */
  readonly expiresAt: string
}

/** Which files an upload route accepts from the signed-in user. */
export interface UploadRules {
  /** Bytes. `null`: no limit. */
  readonly maxFileSize: number | null
  /** Media types such as `image/png` or `image/*`. `null`: any type. */
  readonly contentTypes: readonly string[] | null
  /** Whether files can be uploaded in parts. */
  readonly multipart: boolean
}

export type FileOptions = (ObjectLocation | ObjectId) & {
  /**
   * `inline` shows images, audio, video, PDF and plain text in the browser; other types are always saved as a file. Default:
   * `attachment`.
   */
  readonly disposition?: 'inline' | 'attachment' | null | undefined
  /**
   * `true` returns an address whose bytes scripts of the page can read, also if `<img>` has shown them: for `fetch`, canvas and
   * `<img crossorigin>`. Only pages on plain HTTP need it; elsewhere browsers tell the server. Default: `false`.
   */
  readonly cors?: boolean | null | undefined
}

/** The methods of every client. They reject with {@link S3ClientError}. */
export interface S3Api {
  /**
   * Uploads a file straight to the bucket. Resolves to its record once the server has verified it.
   *
   * Files of 16 MiB or more are uploaded in parts, unless the server turns this off. Failed parts are retried. If a reload, a
   * timeout or a longer network failure interrupts the upload, uploading the same file with the same options sends only the
   * missing parts, or all of them to a new upload if the file has changed. A `Blob` that is not a `File` can't be resumed.
   *
   * In all other cases, an upload that fails or is aborted is ended at the server, which releases its quota. If the server
   * can't be reached, a later upload or `settleUploads()` ends it. If the server confirms the object before the abort arrives,
   * the upload resolves. While the browser is offline, the upload waits.
   *
   * @example
   * const object = await api.upload(file, {
   *   route: 'photos',
   *   onProgress: ({ loaded, total }) => console.log(loaded / total),
   * })
   */
  readonly upload: (file: Blob, options?: UploadOptions) => Promise<DbClientObject>
  /**
   * Settles the uploads of this account that a reload, a crash or a lost network has cut off: confirms those whose bytes have
   * arrived, and ends the others, which releases their quota. Those that can be resumed stay, and so do those that other tabs
   * are working on. Each upload does this first. Resolves also if the server can't be reached.
   *
   * @example
   * await api.settleUploads()
   */
  readonly settleUploads: (options?: CallOptions) => Promise<SettledUploads>
  /**
   * Returns the interrupted uploads of this account that can be resumed, oldest first.
   *
   * @example
   * for (const { filename, size } of await api.unfinishedUploads()) console.log(filename, size)
   */
  readonly unfinishedUploads: (options?: CallOptions) => Promise<readonly UnfinishedUpload[]>
  /**
   * Returns which files the upload routes accept from the signed-in user, by the name of the route, to refuse others before they are
   * sent. Rejects with `NOT_FOUND` if the server has no uploads, or is older than this client.
   *
   * @example
   * const { routes } = await api.uploadRules()
   * input.accept = routes['photos']?.contentTypes?.join() ?? ''
   */
  readonly uploadRules: (
    options?: CallOptions,
  ) => Promise<{ readonly routes: Readonly<Record<string, UploadRules>> }>
  /**
   * Returns a download URL for an active object.
   *
   * @example
   * const { url, expiresAt } = await api.download({ key })
   */
  readonly download: (object: ObjectLocation & CallOptions) => Promise<DownloadLink>
  /**
   * Returns the address of an object's bytes, for `<img src>`, `<video>` and `<a href>`. It doesn't expire: the server checks the
   * permission on each request. Browsers send cookies with it, but not the client's `headers`. Calls no server.
   *
   * @throws TypeError without a key or an id.
   *
   * @example
   * image.src = api.fileURL({ id, disposition: 'inline' })
   */
  readonly fileURL: (object: FileOptions) => string
  /**
   * Deletes an object. Rejects with `OBJECT_NOT_FOUND` if it no longer exists.
   *
   * @example
   * await api.delete({ key })
   */
  readonly delete: (object: ObjectLocation & CallOptions) => Promise<void>
}

export interface S3Client<Plugins extends readonly ClientPlugin[]> {
  readonly api: S3Api & PluginApis<Plugins>
  /** Returns `api`, always the same object, for use in components. */
  readonly useApi: () => S3Api & PluginApis<Plugins>
}

/**
 * Creates a browser client for the API of `createS3Server`.
 *
 * @throws TypeError if `plugins` is not an array of plugins, if `basePath` or `baseURL` is not a string, if `account` is neither
 * a string, a function nor `null`, or if `stallSeconds` is not above 0.
 *
 * @example
 * import { createS3Client, dbClient } from '@svc/db/client'
 *
 * const { api } = createS3Client({ plugins: [dbClient()], account: () => session.userId })
 * const { objects } = await api.db.listObjects()
 */
export function createS3Client<const Plugins extends readonly ClientPlugin[]>(
  clientOptions: S3ClientOptions<Plugins>,
): S3Client<Plugins> {
  const { basePath, baseURL, plugins, account, stallSeconds } = Object(clientOptions) as typeof clientOptions
  const stall = stallSeconds ?? 30
  check(
    plugins?.every?.((plugin) => plugin?.createApi) &&
      isText(basePath) &&
      isText(baseURL) &&
      (isText(account) || typeof account === 'function') &&
      stall > 0,
  )
  const root = withoutTrailingSlash(baseURL || '')
  const path = withoutTrailingSlash(basePath ?? '/api/s3')
  // Without a slash between them, a path would change the host.
  const base = root ? root + path.replace(/^\b/, '/') : path
  const request = createApiRequest(base, clientOptions, stall)
  const context: UploadContext = { ...clientOptions, base, request, stallSeconds: stall }

  const uploads = (options: UploadOptions = {}) => limited(options, () => loadUploads(stall))
  const api = {
    upload: async (file, options) => {
      // Now, because another account may sign in before the upload begins, which would become the owner of the file.
      const owner = knownAccount(account)
      return (await uploads(options)).upload(context, file, options, owner)
    },
    settleUploads: async (options) => (await uploads(options)).settleUploads(context, options),
    unfinishedUploads: async (options) => (await uploads(options)).unfinishedUploads(context, options),
    uploadRules: (options = {}) =>
      request('GET', '/upload/rules', { ...locate(options), query: {}, answer: 'routes' }),
    download: async (object) => {
      const link = await request<DownloadLink>('GET', '/download', { ...locate(object), answer: 'url' })
      return { ...link, url: addressOf(link.url, base) }
    },
    fileURL: (object: FileOptions & { readonly id?: string }) => {
      check(object.key || object.id)
      return base + withQuery('/file', locate(object).query)
    },
    delete: (object) => request('DELETE', '/object', locate(object)),
  } satisfies S3Api as S3Api & PluginApis<Plugins>
  attachContext(api, context)
  for (const { id, createApi } of plugins) Object.assign(api, { [id]: createApi(request) })
  return { api, useApi: () => api }
}

const isText = (value: unknown) => typeof (value || '') === 'string'

/** @throws TypeError with one sentence for all options, which keeps the client small. */
function check(isValid: unknown): void {
  if (!isValid)
    throw new TypeError(
      'plugins must be an array of plugins, account, basePath, baseURL, key, id strings, stallSeconds above 0.',
    )
}

/** Loads the code for uploads on first use, to keep pages that don't upload small. */
function loadUploads(timeoutSeconds?: number): Promise<UploadCode> {
  return limited({ timeoutSeconds }, () => import('./upload/upload.js')).catch((cause: unknown) => {
    throw new S3ClientError('CODE_UNAVAILABLE', 'The upload code was not loaded.', { cause })
  })
}

/**
 * Loads the code for uploads before the first upload does, for example once the page is idle, because a later deployment may
 * remove the file. Rejects with `CODE_UNAVAILABLE` if it can't be loaded.
 *
 * @example
 * import { preloadUpload } from '@svc/db/client'
 *
 * preloadUpload().catch(() => showReloadHint())
 */
export async function preloadUpload(): Promise<void> {
  await loadUploads()
}
