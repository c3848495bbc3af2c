import type { Guard } from '../../core/guards/guard.js'
import { invalid, shown } from '../../core/store/validation/invalid.js'
import { essenceOf } from './media-type.js'

/** What a route is told to make a key of. */
export interface KeyContext {
  readonly scope: string
  /** As the browser named the file; may hold any character, `/` and `..` included. */
  readonly filename: string
  readonly route: string
}

/** How files come in: what is accepted, and where it goes. */
export interface UploadRoute {
  /** Bytes. Default: what the bucket takes, 5 GiB in one PUT, 5 TiB in parts. */
  readonly maxFileSize?: number | null | undefined
  /** Media types such as `image/png`, or `image/*`; compared without case and parameters. Default: any. */
  readonly contentTypes?: readonly string[] | null | undefined
  /** Makes the key, 1..1024 bytes of UTF-8. Keys that can repeat should contain the scope. Default: one that never repeats. */
  readonly key?: ((context: KeyContext) => string | Promise<string>) | null | undefined
  /** Default: the bucket of the server. */
  readonly bucket?: string | null | undefined
  /** Whether an upload may replace an active object of the same key and scope. Default `false`. */
  readonly overwrite?: boolean | null | undefined
  /** Runs after the guard of all uploads. */
  readonly guard?: Guard | null | undefined
}

/** A route as the server works with it. */
export interface RoutePolicy {
  readonly name: string
  readonly bucket: string
  readonly overwrite: boolean
  readonly maxFileSize: number | null
  readonly contentTypes: readonly string[] | null
  readonly key: NonNullable<UploadRoute['key']> | null
  readonly guard: Guard | null
}

/** The routes by name: a map, so that a name from the wire finds nothing that an object inherits. */
export type RouteTable = ReadonlyMap<string, RoutePolicy>

/** @throws StorageError `VALIDATION_ERROR` (`route`) for an unknown name, or for none where there is a choice. */
export function routeOf(table: RouteTable, name: unknown): RoutePolicy {
  const [only, ...others] = table.values()
  if (name === undefined || name === null) {
    if (only && others.length === 0) return only
    throw invalid('route', 'must be given, because there is more than one.')
  }
  const route = typeof name === 'string' ? table.get(name) : undefined
  if (!route) throw invalid('route', `must be the name of an upload route, not ${shown(name)}.`)
  return route
}

/** Whether the route takes files of this media type. */
export function acceptsType({ contentTypes }: RoutePolicy, mediaType: string): boolean {
  const essence = essenceOf(mediaType)
  const anyOfType = `${essence.slice(0, essence.indexOf('/'))}/*`
  return contentTypes === null || contentTypes.includes(essence) || contentTypes.includes(anyOfType)
}
