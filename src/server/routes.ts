import { hexOf, truncateToBytes } from '../core/bytes.js'
import { isDotSegment } from '../core/dot-segments.js'
import { refusalOf, StorageError, toStorageError } from '../core/errors.js'
import type { Guard } from '../core/guards.js'
import { essenceOf, repairedMediaType } from '../core/http/media-type.js'
import { isObject, OptionChecks } from '../core/option-checks.js'
import type { ObjectMetadata } from '../core/store/records.js'
import { checkText, invalid, shown, TEXT_LIMITS } from '../core/store/validation/checks.js'
import { checkMetadata } from '../core/store/validation/metadata.js'

/** The input of a route's `key` function. */
export interface KeyContext {
  readonly scope: string
  /** The file name as the browser sent it. It may contain any character, including `/` and `..`. */
  readonly filename: string
  readonly route: string
}

/** What a route's `metadata` function knows about the upload, besides the metadata that the client sent. */
export interface MetadataContext {
  readonly request: Request
  readonly scope: string
}

/**
 * Returns the metadata to store, or `null` for none. `given` is what the client sent, validated, or `null` if it sent none. A
 * thrown `StorageError` keeps its code.
 */
export type MetadataFunction = (
  given: ObjectMetadata | null,
  context: MetadataContext,
) => ObjectMetadata | null | Promise<ObjectMetadata | null>

/** An upload route: which files it accepts and where it stores them. */
export interface UploadRoute {
  /** Largest file size in bytes. Default: the limit of S3, 5 GiB in a single PUT and 5 TiB in parts. */
  readonly maxFileSize?: number | null | undefined
  /** Allowed media types such as `image/png` or `image/*`. Matching ignores case and parameters. Default: any type. */
  readonly contentTypes?: readonly string[] | null | undefined
  /**
   * Returns the key, 1 to 1024 bytes of UTF-8. Include the scope in keys that are not unique. Default: a random key that is
   * never reused.
   */
  readonly key?: ((context: KeyContext) => string | Promise<string>) | null | undefined
  /**
   * Decides on the metadata of an upload. By default the client's metadata is stored as sent, so it says only what the uploader
   * claims. `false` refuses metadata from clients. A function returns what to store. Only for uploads over HTTP.
   */
  readonly metadata?: false | MetadataFunction | null | undefined
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
  /** Whether an upload may replace an active object with the same key and scope. Default `false`. */
  readonly overwrite?: boolean | null | undefined
  /** Runs after the guard of `upload` or `multipart`. */
  readonly guard?: Guard | null | undefined
}

export type RoutePolicy = ReturnType<typeof routePolicy>

/** The routes by name. A `Map`, because a requested name must not match an inherited property such as `constructor`. */
export type RouteTable = ReadonlyMap<string, RoutePolicy>

export const checks = new OptionChecks('createS3Server')

/** Validates the `routes` option. @throws TypeError if a route is invalid, or if there is none. */
export function routeTable(routes: Readonly<Record<string, UploadRoute>>, bucket: string): RouteTable {
  if (!isObject(routes)) {
    throw checks.error(`routes must be an object of upload routes by name (got ${shown(routes)}).`)
  }
  const table = new Map(
    Object.entries(routes).map(([name, route]) => [name, routePolicy(name, route, bucket)]),
  )
  if (table.size === 0) {
    throw checks.error('routes must have at least one route. Omit it to get a single route named "default".')
  }
  return table
}

function routePolicy(name: string, route: UploadRoute, serverBucket: string) {
  checks.text(`the route name ${shown(name)}`, name, 'route')
  const option = /^[A-Za-z_$][\w$]*$/.test(name) ? `routes.${name}` : `routes[${JSON.stringify(name)}]`
  if (!isObject(route)) throw checks.error(`${option} must be an object (got ${shown(route)}).`)
  const { maxFileSize, contentTypes, key, metadata, bucket, overwrite, guard } = route
  return {
    name,
    bucket: checks.text(`${option}.bucket`, bucket ?? serverBucket, 'bucket'),
    overwrite: checks.boolean(`${option}.overwrite`, overwrite) ?? false,
    maxFileSize: checks.integer(`${option}.maxFileSize`, maxFileSize ?? null, 0, Number.MAX_SAFE_INTEGER),
    contentTypes: contentTypesOption(`${option}.contentTypes`, contentTypes),
    key: checks.function(`${option}.key`, key),
    /** `false`: clients must not send any. `null`: what they send is stored. */
    metadata: metadataOption(`${option}.metadata`, metadata),
    guard: checks.function(`${option}.guard`, guard),
  }
}

function metadataOption(option: string, value: UploadRoute['metadata']): false | MetadataFunction | null {
  if (value === undefined || value === null) return null
  if (value !== false && typeof value !== 'function') {
    throw checks.error(`${option} must be false or a function (got ${shown(value)}).`)
  }
  return value
}

function contentTypesOption(option: string, types: unknown): readonly string[] | null {
  if (types === undefined || types === null) return null
  if (!Array.isArray(types) || types.length === 0) {
    const given = Array.isArray(types) ? 'an empty array' : shown(types)
    throw checks.error(
      `${option} must be an array of media types such as "image/png" or "image/*" (got ${given}).`,
    )
  }
  return types.map((type: unknown, index) =>
    essenceOf(checks.valid(() => checkMediaType(type, `${option}[${index}]`))),
  )
}

/** Returns the route with this name, or the only one. @throws StorageError `VALIDATION_ERROR` (`route`) */
export function routeOf(table: RouteTable, name: unknown): RoutePolicy {
  const [only, ...others] = table.values()
  if (name === undefined || name === null) {
    if (only && others.length === 0) return only
    throw invalid('route', 'must be set, because the server has more than one upload route.')
  }
  const route = typeof name === 'string' ? table.get(name) : undefined
  if (!route) throw invalid('route', `must be the name of an upload route (got ${shown(name)}).`)
  return route
}

/** Checks that a route accepts a file. @throws StorageError `FILE_TOO_LARGE`, `CONTENT_TYPE_NOT_ALLOWED` */
export function checkAccepted(
  { maxFileSize, contentTypes }: RoutePolicy,
  file: { readonly contentType: string; readonly size: number; readonly maxSize: number },
): void {
  const { contentType, size, maxSize } = file
  checkFileSize(maxSize, size)
  if (maxFileSize !== null) checkFileSize(maxFileSize, size)
  if (contentTypes === null) return
  const essence = essenceOf(contentType)
  const wildcard = `${essence.slice(0, essence.indexOf('/'))}/*`
  if (contentTypes.includes(essence) || contentTypes.includes(wildcard)) return
  const allowed = contentTypes.join(', ')
  throw new StorageError('CONTENT_TYPE_NOT_ALLOWED', {
    message: `contentType must be one of ${allowed} (got ${contentType}).`,
    params: { contentType, allowed },
  })
}

function checkFileSize(max: number, size: number): void {
  if (size <= max) return
  throw new StorageError('FILE_TOO_LARGE', {
    message: `size must be at most ${max} bytes (got ${size}).`,
    params: { max, size },
  })
}

/** Returns a media type with its parameters repaired, at most 255 characters. @throws StorageError `VALIDATION_ERROR` */
export function checkMediaType(value: unknown, field = 'contentType'): string {
  const type = repairedMediaType(checkText('contentType', value, field))
  if (type === null) {
    throw invalid(
      field,
      `must be a media type such as "image/png" or "text/plain; charset=utf-8" (got ${shown(value)}).`,
    )
  }
  return type
}

/** Runs a function of a route. @throws what {@link refusalOf} makes of what it throws, else that itself. */
async function refusable<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    throw refusalOf(thrown) ?? thrown
  }
}

/** The key of an object, and those of its bytes. */
export interface UploadKeys {
  readonly key: string
  /** Returns the storage key of an attempt. No two attempts share one. */
  storageKeyOf(attemptId: string): string
}

/** Returns the keys that the route chooses. A random key is never reused, so it is also the storage key. */
export async function buildKeys(route: RoutePolicy, scope: string, filename: string): Promise<UploadKeys> {
  const { key: keyOf, name } = route
  if (keyOf !== null) return applicationKeys(await refusable(() => keyOf({ scope, filename, route: name })))
  const key = randomKey(name)
  return { key, storageKeyOf: () => key }
}

/** Returns the keys for a key that the application chose. Each attempt gets its own storage key. */
export function applicationKeys(value: unknown): UploadKeys {
  const key = checkText('key', value)
  return { key, storageKeyOf: (attemptId) => attemptStorageKey(key, attemptId) }
}

const PREFIX_CHARACTERS = 64
const RANDOM_BYTES = 16

/** Returns a unique key: the route's name as a prefix, and 128 random bits. */
function randomKey(route: string): string {
  const prefix = [...route]
    .slice(0, PREFIX_CHARACTERS)
    .join('')
    .replace(/[^\w-]/gu, '_')
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))
  return `${prefix}/${hexOf(random)}`
}

/** The longest name of a file, in bytes. Services that keep objects as files refuse longer segments of a key. */
const MAX_SEGMENT = 255

/**
 * Returns the key with the attempt id appended, cut to the limit of S3, and its last segment to that of a file name. URLs would resolve
 * the segments `.` and `..`.
 */
function attemptStorageKey(key: string, attemptId: string): string {
  // In ASCII, so a character is a byte.
  const suffix = `~${attemptId}`
  const segments = key
    .split('/')
    .map((segment) => (isDotSegment(segment) ? '_'.repeat(segment.length) : segment))
  const last = truncateToBytes(segments.pop() ?? '', MAX_SEGMENT - suffix.length)
  const safeKey = [...segments, last].join('/')
  return truncateToBytes(safeKey, TEXT_LIMITS.storageKey.max - suffix.length) + suffix
}

/** Returns the metadata to store. @throws StorageError `INTERNAL_ERROR` if the route's function returns an invalid value. */
export async function buildMetadata(
  { name, metadata }: RoutePolicy,
  given: ObjectMetadata | null,
  context: MetadataContext,
): Promise<ObjectMetadata | null> {
  if (typeof metadata !== 'function') return given
  const result: unknown = await refusable(() => metadata(given, context))
  // Only an explicit `null` means "none". `undefined` is probably a forgotten return statement.
  if (result === null) return null
  try {
    return checkMetadata(result)
  } catch (error) {
    // Without a cause, because `onError` would get it instead of a message that names the route.
    const message = `The metadata function of the upload route ${shown(name)} failed: ${toStorageError(error).message}`
    throw new StorageError('INTERNAL_ERROR', { message })
  }
}
