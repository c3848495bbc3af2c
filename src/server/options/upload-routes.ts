import type { Guard } from '../../core/guards/guard.js'
import type { ObjectMetadata } from '../../core/store/records.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import { essenceOf } from './media-type.js'

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

/** A validated route with its defaults filled in. */
export interface RoutePolicy {
  readonly name: string
  readonly bucket: string
  readonly overwrite: boolean
  readonly maxFileSize: number | null
  readonly contentTypes: readonly string[] | null
  readonly key: NonNullable<UploadRoute['key']> | null
  /** `false`: clients must not send any. `null`: what they send is stored. */
  readonly metadata: false | MetadataFunction | null
  readonly guard: Guard | null
}

/** The routes by name. A `Map`, because a requested name must not match an inherited property such as `constructor`. */
export type RouteTable = ReadonlyMap<string, RoutePolicy>

/**
 * Returns the route with this name. A server with a single route uses it if the request names none.
 * @throws StorageError `VALIDATION_ERROR` (`route`) if the name is unknown, or missing where there are several routes.
 */
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

/** Returns whether the route accepts this media type. */
export function acceptsType({ contentTypes }: RoutePolicy, mediaType: string): boolean {
  const essence = essenceOf(mediaType)
  const wildcard = `${essence.slice(0, essence.indexOf('/'))}/*`
  return contentTypes === null || contentTypes.includes(essence) || contentTypes.includes(wildcard)
}
