import type { Guard } from '../../core/guards/guard.js'
import type { OperationObserver } from '../../core/observer.js'
import type { ServerPlugin } from '../../core/plugin.js'
import type { ErrorListener } from '../../core/reporter.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import type { UploadRoute } from './upload-routes.js'

export interface DeleteOptions {
  /** Runs after the ownership check. */
  readonly guard?: Guard | null | undefined
}

export interface UploadOptions {
  /** Runs where an upload begins, after its input was checked and before anything is reserved. */
  readonly guard?: Guard | null | undefined
  /** How long an upload URL lives, in whole seconds, 1 to 604800 (7 days). Default 900. */
  readonly expiresIn?: number | null | undefined
}

export interface MultipartOptions {
  /**
   * Runs where an upload in parts begins, after its input was checked and before anything is reserved; the guard of `upload`
   * doesn't. A rule for all uploads belongs to both, or to each route.
   */
  readonly guard?: Guard | null | undefined
  /** How long the URL of a part lives, in whole seconds, 1 to 604800 (7 days). Default 900. */
  readonly expiresIn?: number | null | undefined
}

export interface DownloadOptions {
  /** Runs after the ownership check. */
  readonly guard?: Guard | null | undefined
  /** How long a download URL lives, in whole seconds, 1 to 604800 (7 days). Default 900. `cleanUp` spares bytes that long. */
  readonly expiresIn?: number | null | undefined
}

export interface S3ServerOptions<Plugins extends readonly ServerPlugin[] = readonly ServerPlugin[]> {
  /** Where the bytes lie. One database serves one storage. */
  readonly storage: ObjectStorage
  /** The bucket of requests and routes that name none, 1..255 characters. */
  readonly bucket: string
  /** Path below which the server answers. Default `/api/s3`. */
  readonly basePath?: string | null | undefined
  /** How files may come in, by name. Default: one route, `default`, that takes anything. */
  readonly routes?: Readonly<Record<string, UploadRoute>> | null | undefined
  /** `false`: these paths don't exist. Default `true`. */
  readonly upload?: boolean | UploadOptions | null | undefined
  /** `false`: these paths don't exist. Default `true`, where the storage takes uploads in parts. */
  readonly multipart?: boolean | MultipartOptions | null | undefined
  /** `false`: this path doesn't exist. Default `true`. */
  readonly download?: boolean | DownloadOptions | null | undefined
  /** `false`: this path doesn't exist. Default `true`. */
  readonly delete?: boolean | DeleteOptions | null | undefined
  /** Exactly one of them keeps records: `db()`. */
  readonly plugins: Plugins
  /** Told every 5xx, and every error of a guard or a hook. Default: prints them to the console. */
  readonly onError?: ErrorListener | null | undefined
  /** Goes around each operation, for traces and metrics. */
  readonly onOperation?: OperationObserver | null | undefined
  /** The clock. Default: the system's. */
  readonly now?: (() => Date) | null | undefined
}
