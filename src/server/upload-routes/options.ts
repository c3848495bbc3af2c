import type { Guard } from '../../core/guards.js'
import { checkMediaType, essenceOf } from '../../core/http/media-type.js'
import { namesOf } from '../../core/known-names.js'
import { OptionChecks, isObject } from '../../core/option-checks.js'
import { MAX_TEMPORARY_SECONDS } from '../../core/store/inputs/temporary.js'
import { CHECK_SECONDS } from '../../core/store/inputs/verdicts.js'
import type { ObjectMetadata, StorageObject } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'

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
  /** A copy of the object whose metadata changes. Absent if an upload begins. */
  readonly object?: StorageObject
}

/**
 * Returns the metadata to store, or `null` for none. `given` is what the client sent, validated, or `null` if it sent none. A
 * thrown `StorageError` keeps its code.
 */
export type MetadataFunction = (
  given: ObjectMetadata | null,
  context: MetadataContext,
) => ObjectMetadata | null | Promise<ObjectMetadata | null>

/**
 * Returns the largest file size of an owner in bytes, or `null` for no limit, such as that of their plan. Called when an upload
 * begins, by `GET /upload/rules`, and without a request by `s3.files.put`. Any other result refuses the upload with `INTERNAL_ERROR`, which `onError` gets.
 */
export type MaxFileSizeFunction = (scope: string, request?: Request) => number | null | Promise<number | null>

/** An upload route: which files it accepts and where it stores them. */
export interface UploadRoute {
  /**
   * Largest file size in bytes, for everybody or by owner. The limits of S3 apply as well: 5 GiB in a single PUT and 5 TiB in parts.
   * Default: those alone.
   */
  readonly maxFileSize?: number | MaxFileSizeFunction | null | undefined
  /** Allowed media types such as `image/png` or `image/*`. Matching ignores case and parameters. Default: any type. */
  readonly contentTypes?: readonly string[] | null | undefined
  /**
   * Returns the key, 1 to 1024 bytes of UTF-8. Include the scope in keys that are not unique. Default: a random key that is
   * never reused.
   */
  readonly key?: ((context: KeyContext) => string | Promise<string>) | null | undefined
  /**
   * Decides on the metadata of an upload, and on its changes by `PATCH /db/object`. By default the client's metadata is stored as
   * sent, so it says only what the uploader claims. `false` refuses metadata from clients. A function returns what to store; for a
   * change it gets the `object`, so that it can keep what the server has written. Only for requests over HTTP.
   */
  readonly metadata?: false | MetadataFunction | null | undefined
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
  /** Whether an upload may replace an active object with the same key and scope. Default `false`. */
  readonly overwrite?: boolean | null | undefined
  /** Runs after the guards of `upload` and `multipart`. Only for uploads over HTTP. */
  readonly guard?: Guard | null | undefined
  /**
   * Makes the objects of the route temporary: each is gone this many seconds after its upload was confirmed, 1 to 31,536,000, unless your
   * server keeps it before, with `keep`. Has no effect on a replacement of an object that stays. Default: objects stay.
   */
  readonly temporarySeconds?: number | null | undefined
  /**
   * Whether the bytes of an upload over HTTP are checked before anyone can read them, such as by a virus scanner or a moderator: a
   * confirmed upload is `pending` and `checking` until `s3.files.accept` or `s3.files.reject` decides. `seconds` is the time for
   * the check, 60 to 2592000 (30 days), after which `cleanUp` rejects it. `true`: 604800 (7 days). Default `false`. Needs a
   * storage that never replaces bytes, so not `createOnly: false`.
   */
  readonly check?: boolean | CheckOptions | null | undefined
  /** `false` closes the route to HTTP, for files that only your server stores, with `s3.files.put`. Default `true`. */
  readonly http?: boolean | null | undefined
}

export interface CheckOptions {
  /** The time for the check in whole seconds, 60 to 2592000 (30 days). Default 604800 (7 days). */
  readonly seconds?: number | null | undefined
}

export type RoutePolicy = ReturnType<typeof routePolicy>

/** The routes by name. A `Map`, because a requested name must not match an inherited property such as `constructor`. */
export type RouteTable = ReadonlyMap<string, RoutePolicy>

const ROUTE = namesOf<UploadRoute>({
  ...{ maxFileSize: true, contentTypes: true, key: true, metadata: true, bucket: true, overwrite: true },
  ...{ guard: true, http: true, temporarySeconds: true, check: true },
})
const CHECK = namesOf<CheckOptions>({ seconds: true })
const DEFAULT_CHECK_SECONDS = 604_800

const checks = new OptionChecks('createS3Server')

/** Validates the `routes` option. @throws TypeError if a route is invalid, or if there is none. */
export function routeTable(routes: Readonly<Record<string, UploadRoute>>, bucket: string): RouteTable {
  if (!isObject(routes) || Array.isArray(routes)) {
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
  checks.nested(option, route, ROUTE)
  const { maxFileSize, contentTypes, key, metadata, bucket, overwrite, guard, http, check } = route
  const seconds = route.temporarySeconds ?? null
  return {
    name,
    bucket: checks.text(`${option}.bucket`, bucket ?? serverBucket, 'bucket'),
    overwrite: checks.boolean(`${option}.overwrite`, overwrite) ?? false,
    maxFileSize: maxFileSizeOption(`${option}.maxFileSize`, maxFileSize),
    contentTypes: contentTypesOption(`${option}.contentTypes`, contentTypes),
    key: checks.function(`${option}.key`, key),
    /** `false`: clients must not send any. `null`: what they send is stored. */
    metadata: metadataOption(`${option}.metadata`, metadata),
    guard: checks.function(`${option}.guard`, guard),
    temporarySeconds: checks.integer(`${option}.temporarySeconds`, seconds, 1, MAX_TEMPORARY_SECONDS),
    isOpen: checks.boolean(`${option}.http`, http) ?? true,
    /** The time for the check of an upload over HTTP. `null`: it is not checked. */
    checkSeconds: checkOption(`${option}.check`, check),
  }
}

/** Returns the routes that requests may name. */
export function openRoutes(routes: RouteTable): RouteTable {
  return new Map([...routes].filter(([, { isOpen }]) => isOpen))
}

function checkOption(option: string, value: UploadRoute['check']): number | null {
  if (value === undefined || value === null || value === false) return null
  if (value !== true && !isObject(value)) {
    throw checks.error(`${option} must be true, false or an object { seconds? } (got ${shown(value)}).`)
  }
  const { seconds } = value === true ? {} : checks.nested(option, value, CHECK)
  const { min, max } = CHECK_SECONDS
  return checks.integer(`${option}.seconds`, seconds ?? DEFAULT_CHECK_SECONDS, min, max)
}

function maxFileSizeOption(
  option: string,
  value: UploadRoute['maxFileSize'],
): number | MaxFileSizeFunction | null {
  if (typeof value === 'function') return value
  return checks.integer(option, value ?? null, 0, Number.MAX_SAFE_INTEGER)
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
