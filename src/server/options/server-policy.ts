import { checkBasePath, DEFAULT_BASE_PATH } from '../../core/http/base-path.js'
import type { Guard } from '../../core/guards/guard.js'
import type { OperationObserver } from '../../core/observer.js'
import type { ServerPlugin } from '../../core/plugin.js'
import type { ErrorListener } from '../../core/reporter.js'
import { shown } from '../../core/store/validation/invalid.js'
import { DEFAULT_URL_SECONDS, LONGEST_URL_SECONDS } from '../lifetimes.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import { functionOption, integerOption, isObject, textOption, wrongOption } from './option-checks.js'
import { routeTable } from './route-table.js'
import type { S3ServerOptions, UploadOptions } from './server-options.js'
import type { RouteTable } from './upload-routes.js'

/** Options of one kind of operation, completed. */
export interface OperationPolicy {
  readonly guard: Guard | null
  readonly urlSeconds: number
}

/** The options, checked and completed. `null` for an operation that is off. */
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
  readonly onError: ErrorListener | null
  readonly onOperation: OperationObserver | null
  readonly now: () => Date
}

/** @throws TypeError that says which option is wrong, and what is allowed. */
export function serverPolicy(options: S3ServerOptions): ServerPolicy {
  if (!isObject(options)) throw wrongOption(`The options must be an object, not ${shown(options)}.`)
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
    onError: functionOption('onError', options.onError),
    onOperation: functionOption('onOperation', options.onOperation),
    now: functionOption('now', options.now) ?? (() => new Date()),
  }
}

function storageOption(storage: ObjectStorage): ObjectStorage {
  if (!hasCalls(storage, ['signUpload', 'signDownload', 'head', 'remove'])) {
    throw wrongOption(`storage must be an ObjectStorage, such as memoryStorage(), not ${shown(storage)}.`)
  }
  const { multipart } = storage
  if (multipart && !hasCalls(multipart, ['create', 'signPart', 'listParts', 'complete', 'abort', 'list'])) {
    throw wrongOption('storage.multipart must have all calls of a MultipartStorage, or be left out.')
  }
  return storage
}

function hasCalls<T extends object>(part: T, calls: readonly (keyof T)[]): boolean {
  return isObject(part) && calls.every((call) => typeof part[call] === 'function')
}

function operationOption(
  name: 'upload' | 'multipart' | 'download' | 'delete',
  value: boolean | UploadOptions | null | undefined,
): OperationPolicy | null {
  if (value === false) return null
  const given = value === true || value === undefined || value === null ? {} : value
  if (!isObject(given)) throw wrongOption(`${name} must be true, false or an object, not ${shown(given)}.`)
  const { guard, expiresIn } = given
  return {
    guard: functionOption(`${name}.guard`, guard),
    urlSeconds: integerOption(`${name}.expiresIn`, expiresIn ?? DEFAULT_URL_SECONDS, 1, LONGEST_URL_SECONDS),
  }
}

function pluginsOption(plugins: readonly ServerPlugin[]): readonly ServerPlugin[] {
  const known: unknown = plugins
  if (!Array.isArray(known)) throw wrongOption(`plugins must be an array with db(), not ${shown(known)}.`)
  const ids = new Set(['handler', 'basePath'])
  for (const { id, install } of plugins.map(pluginOption)) {
    if (typeof id !== 'string' || id === '' || typeof install !== 'function') {
      throw wrongOption('each of plugins must have an id and a function install, as db() has.')
    }
    if (ids.has(id)) throw wrongOption(`the plugin id ${shown(id)} is taken; each plugin needs its own.`)
    ids.add(id)
  }
  return plugins
}

function pluginOption(plugin: ServerPlugin): Partial<ServerPlugin> {
  return isObject(plugin) ? plugin : {}
}
