import { StorageError } from '../core/errors.js'
import type { Guard } from '../core/guards.js'
import { checkBasePath, DEFAULT_BASE_PATH } from '../core/http/handler.js'
import type { ObjectStorage } from '../core/object-storage.js'
import type { OperationObserver } from '../core/observer.js'
import { namesOf, type KnownNames } from '../core/known-names.js'
import { isObject, OptionChecks } from '../core/option-checks.js'
import type { ServerPlugin } from '../core/plugin.js'
import type { ErrorListener } from '../core/reporter.js'
import { copyObject, type StorageObject } from '../core/store/records.js'
import { shown } from '../core/store/validation/checks.js'
import type { DownloadLifetimes } from './dependencies.js'
import { DEFAULT_HANDLER_SECONDS, type EventHandler } from './events/delivery.js'
import type { WaitUntil } from './events/background.js'
import { routeTable, type RouteTable, type UploadRoute } from './upload-routes/options.js'
import { DEFAULT_URL_SECONDS, LONGEST_URL_SECONDS } from './url-terms.js'

export const checks = new OptionChecks('createS3Server')

export interface DeleteOptions {
  /** Runs after the ownership check. */
  readonly guard?: Guard | null | undefined
}

export interface UploadOptions {
  /**
   * Runs when an upload starts, in one PUT or in parts (`context.multipart`), after input validation and before the reservation.
   * With `upload: false` there is none.
   */
  readonly guard?: Guard | null | undefined
  /** Lifetime of an upload URL in whole seconds, 1 to 604800 (7 days). Default 900. */
  readonly expiresIn?: number | null | undefined
}

export interface MultipartOptions {
  /** Runs when an upload in parts starts, after the guard of `upload`. */
  readonly guard?: Guard | null | undefined
  /** Lifetime of a part URL in whole seconds, 1 to 604800 (7 days). Default 900. */
  readonly expiresIn?: number | null | undefined
}

/** Options of downloads. `expiresIn` is a number of seconds, or a function that needs `maxExpiresIn`. */
export type DownloadOptions = DeleteOptions &
  (
    | {
        /** Lifetime of a download URL in whole seconds, 1 to 604800 (7 days). Default 900. */
        readonly expiresIn?: number | null | undefined
        /**
         * How long `cleanUp` keeps replaced bytes, in whole seconds, up to 604800. Default: `expiresIn`. Set it if
         * `files.downloadURL` signs for longer.
         */
        readonly maxExpiresIn?: number | null | undefined
      }
    | {
        /**
         * Returns the lifetime for an object in seconds, at least 1, such as hours for a film: a player or a large download uses one
         * URL to its end. `maxExpiresIn` cuts off what is longer. Also called for an object that was replaced, whose bytes `cleanUp` keeps
         * for so long.
         */
        readonly expiresIn: (object: StorageObject) => number
        /** The longest lifetime in whole seconds, 1 to 604800. `cleanUp` keeps other bytes that may be read for this long. */
        readonly maxExpiresIn: number
      }
  )

export interface S3ServerOptions<Plugins extends readonly ServerPlugin[] = readonly ServerPlugin[]> {
  /** The storage that holds the bytes. Use one database per storage. */
  readonly storage: ObjectStorage
  /** The default bucket of requests and routes, 1 to 255 characters. */
  readonly bucket: string
  /**
   * Further buckets of `storage` whose files `cleanUp`, `endUploads` and `eraseScope` may delete, besides `bucket` and those of `routes`.
   * They leave all others alone, because another storage may have the bytes. Default: none.
   */
  readonly buckets?: readonly string[] | null | undefined
  /** The path below which the server handles requests. Default `/api/s3`. */
  readonly basePath?: string | null | undefined
  /**
   * Whether one slash at the end of a path is ignored, as in `POST /upload/`. Default: only by `s3.handler` itself, and not by
   * the bindings, whose routers may tell the two paths apart: a limiter or guard on `/upload` would miss `/upload/`.
   */
  readonly trailingSlash?: boolean | null | undefined
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
   * and in `deliverEvents`, which delivers all others. It must be the same in every process of the database: each event
   * goes to only one of them.
   */
  readonly onEvent?: EventHandler | null | undefined
  /**
   * Seconds that `onEvent` may run for one event, above 0 and at most 86400. Then its `signal` aborts, and the event counts as
   * failed. Default 3600.
   */
  readonly handlerSeconds?: number | null | undefined
  /**
   * Called inside the request that made a change, with the promise of its background delivery, which never rejects. For runtimes that
   * stop after the response: `waitUntil` of `cloudflare:workers` and of `@vercel/functions` fit. What it throws goes to `onError`.
   */
  readonly waitUntil?: WaitUntil | null | undefined
  /** Called with every 5xx error and every error of a guard, a hook or `onEvent`. Default: logs to the console. */
  readonly onError?: ErrorListener | null | undefined
  /** Wraps each operation, for tracing and metrics. */
  readonly onOperation?: OperationObserver | null | undefined
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

const OPTIONS = namesOf<S3ServerOptions>({
  ...{ storage: true, bucket: true, buckets: true, basePath: true, trailingSlash: true, routes: true },
  ...{ upload: true, multipart: true, download: true, delete: true, plugins: true, onEvent: true },
  ...{ handlerSeconds: true, waitUntil: true, onError: true, onOperation: true, now: true },
})
const OPERATIONS = {
  upload: namesOf<UploadOptions>({ guard: true, expiresIn: true }),
  multipart: namesOf<MultipartOptions>({ guard: true, expiresIn: true }),
  download: namesOf<DownloadOptions>({ guard: true, expiresIn: true, maxExpiresIn: true }),
  delete: namesOf<DeleteOptions>({ guard: true }),
} satisfies Partial<Record<keyof S3ServerOptions, KnownNames>>

export type OperationPolicy = NonNullable<ReturnType<typeof operationOption>>

export interface DownloadPolicy extends DownloadLifetimes {
  readonly guard: Guard | null
}

/** The validated options with their defaults. A disabled operation is `null`. */
export type ServerPolicy = ReturnType<typeof serverPolicy>

/** Validates the options of `createS3Server`. @throws TypeError that names the invalid option. */
export function serverPolicy(options: S3ServerOptions) {
  checks.options(options, OPTIONS)
  const bucket = checks.text('bucket', options.bucket, 'bucket')
  const routes = routeTable(options.routes ?? { default: {} }, bucket)
  const further = bucketsOption(options.buckets ?? [])
  const storage = storageOption(options.storage)
  refuseChecks(storage, routes)
  return {
    storage,
    bucket,
    /** Every bucket that the server knows. */
    buckets: new Set([bucket, ...[...routes.values()].map((route) => route.bucket), ...further]),
    basePath: checkBasePath('createS3Server', options.basePath ?? DEFAULT_BASE_PATH),
    trailingSlash: checks.boolean('trailingSlash', options.trailingSlash),
    routes,
    upload: operationOption('upload', options.upload),
    multipart: operationOption('multipart', options.multipart),
    download: downloadOption(options.download),
    delete: operationOption('delete', options.delete),
    plugins: pluginsOption(options.plugins),
    onEvent: checks.function('onEvent', options.onEvent),
    handlerSeconds: checks.seconds('handlerSeconds', options.handlerSeconds) ?? DEFAULT_HANDLER_SECONDS,
    waitUntil: checks.function('waitUntil', options.waitUntil),
    onError: checks.function('onError', options.onError),
    onOperation: checks.function('onOperation', options.onOperation),
    now: checks.function('now', options.now) ?? (() => new Date()),
  }
}

function bucketsOption(buckets: readonly string[]): readonly string[] {
  const given: unknown = buckets
  if (!Array.isArray(given)) throw checks.error(`buckets must be an array of names (got ${shown(given)}).`)
  return buckets.map((bucket, index) => checks.text(`buckets[${index}]`, bucket, 'bucket'))
}

function storageOption(storage: ObjectStorage): ObjectStorage {
  if (!hasMethods(storage, ['signUpload', 'signDownload', 'head', 'remove'])) {
    throw checks.error(`storage must be an ObjectStorage such as memoryStorage() (got ${shown(storage)}).`)
  }
  const { multipart } = storage
  if (multipart && !hasMethods(multipart, ['create', 'signPart', 'listParts', 'complete', 'abort', 'list'])) {
    throw checks.error('storage.multipart must implement every method of MultipartStorage, or be omitted.')
  }
  return storage
}

/** A URL that can write again could replace bytes after their check. @throws TypeError that names the route. */
function refuseChecks({ createOnly }: ObjectStorage, routes: RouteTable): void {
  const checking = [...routes.values()].find(({ checkSeconds }) => checkSeconds !== null)
  if (createOnly !== false || !checking) return
  throw checks.error(
    `the upload route ${shown(checking.name)} can't have check, because the storage has createOnly: false, so upload URLs can ` +
      'replace bytes after their check.',
  )
}

function hasMethods<T extends object>(value: T, names: readonly (keyof T)[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

function operationOption(
  name: 'upload' | 'multipart' | 'delete',
  value: boolean | UploadOptions | null | undefined,
) {
  const given = enabled(name, value)
  return (
    given && { guard: given.guard, urlSeconds: secondsOption(`${name}.expiresIn`, given.options.expiresIn) }
  )
}

/** Returns the options of an operation and its validated guard, or `null` if the operation is disabled. */
function enabled<T extends DeleteOptions>(
  name: keyof typeof OPERATIONS,
  value: boolean | T | null | undefined,
) {
  if (value === false) return null
  if (!isObject(value ?? {}) && value !== true)
    throw checks.error(`${name} must be true, false, or an object (got ${shown(value)}).`)
  const options: Partial<T> = isObject(value) ? checks.nested(name, value, OPERATIONS[name]) : {}
  return { options, guard: checks.function<Guard>(`${name}.guard`, options.guard) }
}

function secondsOption(name: string, value: number | null | undefined, min = 1): number {
  return checks.integer(name, value ?? DEFAULT_URL_SECONDS, min, LONGEST_URL_SECONDS)
}

function downloadOption(value: boolean | DownloadOptions | null | undefined): DownloadPolicy | null {
  const given = enabled('download', value)
  if (!given) return null
  const { expiresIn, maxExpiresIn } = given.options
  if (typeof expiresIn !== 'function') {
    const seconds = secondsOption('download.expiresIn', expiresIn)
    const maxSeconds = secondsOption('download.maxExpiresIn', maxExpiresIn ?? seconds, seconds)
    return { guard: given.guard, urlSecondsOf: () => seconds, maxSeconds, isByObject: false }
  }
  if (!maxExpiresIn)
    throw checks.error('download.maxExpiresIn must be set if download.expiresIn is a function.')
  const maxSeconds = secondsOption('download.maxExpiresIn', maxExpiresIn)
  const urlSecondsOf = (object: StorageObject) => boundedSeconds(expiresIn(copyObject(object)), maxSeconds)
  return { guard: given.guard, urlSecondsOf, maxSeconds, isByObject: true }
}

function boundedSeconds(seconds: unknown, max: number): number {
  if (typeof seconds === 'number' && seconds >= 1) return Math.min(Math.floor(seconds), max)
  throw new StorageError('INTERNAL_ERROR', {
    message: `download.expiresIn must return a number of seconds of at least 1 (got ${shown(seconds)}).`,
  })
}

function pluginsOption(plugins: readonly ServerPlugin[]): readonly ServerPlugin[] {
  const known: unknown = plugins
  if (!Array.isArray(known))
    throw checks.error(`plugins must be an array that includes db() (got ${shown(known)}).`)
  // Members that every server has or will have.
  const ids = new Set(['handler', 'basePath', 'files', 'close', 'verify'])
  for (const plugin of plugins) {
    const given: Partial<ServerPlugin> = isObject(plugin) ? plugin : {}
    const { id } = given
    if (typeof id !== 'string' || id === '' || typeof given.install !== 'function') {
      throw checks.error(
        'plugins must contain plugins such as db(), each with a string id and an install function.',
      )
    }
    if (ids.has(id)) throw checks.error(`plugins must have unique ids (${shown(id)} is already in use).`)
    ids.add(id)
  }
  return plugins
}
