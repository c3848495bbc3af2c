import { checkBasePath, DEFAULT_BASE_PATH } from '../../core/http/handler.js'
import type { Guard } from '../../core/guards/guard.js'
import type { OperationObserver } from '../../core/observer.js'
import type { ServerPlugin } from '../../core/plugin.js'
import type { ErrorListener } from '../../core/reporter.js'
import { shown } from '../../core/store/validation/checks.js'
import type { EventHandler } from '../events/delivery.js'
import { DEFAULT_URL_SECONDS, LONGEST_URL_SECONDS } from '../lifetimes.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import { functionOption, integerOption, isObject, optionError, textOption } from './option-checks.js'
import { routeTable } from './route-table.js'
import type { S3ServerOptions, UploadOptions } from './server-options.js'
import type { RouteTable } from './upload-routes.js'

/** The validated options of one operation. */
export interface OperationPolicy {
  readonly guard: Guard | null
  readonly urlSeconds: number
}

/** The validated options with their defaults. A disabled operation is `null`. */
export interface ServerPolicy {
  readonly storage: ObjectStorage
  readonly bucket: string
  readonly basePath: string
  readonly routes: RouteTable
  readonly upload: OperationPolicy | null
  readonly multipart: OperationPolicy | null
  readonly download: OperationPolicy | null
  readonly delete: OperationPolicy | null
  readonly plugins: readonly ServerPlugin[]
  readonly onEvent: EventHandler | null
  readonly onError: ErrorListener | null
  readonly onOperation: OperationObserver | null
  readonly now: () => Date
}

/** Validates the options of `createS3Server`. @throws TypeError that names the invalid option. */
export function serverPolicy(options: S3ServerOptions): ServerPolicy {
  if (!isObject(options)) throw optionError(`the options must be an object (got ${shown(options)}).`)
  const bucket = textOption('bucket', 'bucket', options.bucket)
  return {
    storage: storageOption(options.storage),
    bucket,
    basePath: checkBasePath('createS3Server', options.basePath ?? DEFAULT_BASE_PATH),
    routes: routeTable(options.routes ?? { default: {} }, bucket),
    upload: operationOption('upload', options.upload),
    multipart: operationOption('multipart', options.multipart),
    download: operationOption('download', options.download),
    delete: operationOption('delete', options.delete),
    plugins: pluginsOption(options.plugins),
    onEvent: functionOption('onEvent', options.onEvent),
    onError: functionOption('onError', options.onError),
    onOperation: functionOption('onOperation', options.onOperation),
    now: functionOption('now', options.now) ?? (() => new Date()),
  }
}

function storageOption(storage: ObjectStorage): ObjectStorage {
  if (!hasMethods(storage, ['signUpload', 'signDownload', 'head', 'remove'])) {
    throw optionError(`storage must be an ObjectStorage such as memoryStorage() (got ${shown(storage)}).`)
  }
  const { multipart } = storage
  if (multipart && !hasMethods(multipart, ['create', 'signPart', 'listParts', 'complete', 'abort', 'list'])) {
    throw optionError('storage.multipart must implement every method of MultipartStorage, or be omitted.')
  }
  return storage
}

function hasMethods<T extends object>(value: T, names: readonly (keyof T)[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

function operationOption(
  name: 'upload' | 'multipart' | 'download' | 'delete',
  value: boolean | UploadOptions | null | undefined,
): OperationPolicy | null {
  if (value === false) return null
  const given = value === true || value === undefined || value === null ? {} : value
  if (!isObject(given)) throw optionError(`${name} must be true, false, or an object (got ${shown(given)}).`)
  const { guard, expiresIn } = given
  return {
    guard: functionOption(`${name}.guard`, guard),
    urlSeconds: integerOption(`${name}.expiresIn`, expiresIn ?? DEFAULT_URL_SECONDS, 1, LONGEST_URL_SECONDS),
  }
}

function pluginsOption(plugins: readonly ServerPlugin[]): readonly ServerPlugin[] {
  const known: unknown = plugins
  if (!Array.isArray(known))
    throw optionError(`plugins must be an array that includes db() (got ${shown(known)}).`)
  const ids = new Set(['handler', 'basePath', 'files'])
  for (const { id, install } of plugins.map(pluginOption)) {
    if (typeof id !== 'string' || id === '' || typeof install !== 'function') {
      throw optionError(
        'plugins must contain plugins such as db(), each with a string id and an install function.',
      )
    }
    if (ids.has(id)) throw optionError(`plugins must have unique ids (${shown(id)} is already in use).`)
    ids.add(id)
  }
  return plugins
}

function pluginOption(plugin: ServerPlugin): Partial<ServerPlugin> {
  return isObject(plugin) ? plugin : {}
}
