import type { Guard } from '../../core/guards/guard.js'
import type { OperationObserver } from '../../core/observer.js'
import type { ServerPlugin } from '../../core/plugin.js'
import type { ErrorListener } from '../../core/reporter.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import type { EventHandler } from '../events/delivery.js'
import type { UploadRoute } from './upload-routes.js'

export interface DeleteOptions {
  /** Runs after the ownership check. */
  readonly guard?: Guard | null | undefined
}

export interface UploadOptions {
  /** Runs when an upload starts, after input validation and before the reservation. */
  readonly guard?: Guard | null | undefined
  /** Lifetime of an upload URL in whole seconds, 1 to 604800 (7 days). Default 900. */
  readonly expiresIn?: number | null | undefined
}

export interface MultipartOptions {
  /**
   * Runs when a multipart upload starts, after input validation and before the reservation. The guard of `upload` does not
   * run for multipart uploads: set a rule for all uploads here and on `upload`, or on each route.
   */
  readonly guard?: Guard | null | undefined
  /** Lifetime of a part URL in whole seconds, 1 to 604800 (7 days). Default 900. */
  readonly expiresIn?: number | null | undefined
}

export interface DownloadOptions {
  /** Runs after the ownership check. */
  readonly guard?: Guard | null | undefined
  /**
   * Lifetime of a download URL in whole seconds, 1 to 604800 (7 days). Default 900. `cleanUp` keeps the bytes of a deleted
   * object for this long.
   */
  readonly expiresIn?: number | null | undefined
}

export interface S3ServerOptions<Plugins extends readonly ServerPlugin[] = readonly ServerPlugin[]> {
  /** The storage that holds the bytes. Use one database per storage. */
  readonly storage: ObjectStorage
  /** The default bucket of requests and routes, 1 to 255 characters. */
  readonly bucket: string
  /** The path below which the server handles requests. Default `/api/s3`. */
  readonly basePath?: string | null | undefined
  /** The upload routes by name. Default: one route named `default` without limits. */
  readonly routes?: Readonly<Record<string, UploadRoute>> | null | undefined
  /** Options of single-PUT uploads, or `false` to disable them. Default `true`. */
  readonly upload?: boolean | UploadOptions | null | undefined
  /** Options of multipart uploads, or `false` to disable them. Default `true` if the storage supports them. */
  readonly multipart?: boolean | MultipartOptions | null | undefined
  /** Options of downloads, or `false` to disable them. Default `true`. */
  readonly download?: boolean | DownloadOptions | null | undefined
  /** Options of deletes, or `false` to disable them. Default `true`. */
  readonly delete?: boolean | DeleteOptions | null | undefined
  /** The plugins. Exactly one must keep the records, such as `db()`. */
  readonly plugins: Plugins
  /**
   * Handles the events of changed objects, if the database records them. Runs in the background after changes by this server,
   * and in `deliverEvents`, which delivers all others.
   */
  readonly onEvent?: EventHandler | null | undefined
  /** Called with every 5xx error and every error of a guard, a hook or `onEvent`. Default: logs to the console. */
  readonly onError?: ErrorListener | null | undefined
  /** Wraps each operation, for tracing and metrics. */
  readonly onOperation?: OperationObserver | null | undefined
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}
