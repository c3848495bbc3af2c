/** The path of a request as a framework has split it. */
export interface MountedPath {
  /** What the framework's routers have matched so far. */
  readonly mount: string
  /** What is left of it, from a slash on. */
  readonly path: string
}

/**
 * The path below the library's base: `''` or from a slash on; `null` where the request is somebody else's. The base is
 * either the end of where the library is mounted or the start of what is left.
 */
export function belowBase(basePath: string, { mount, path }: MountedPath): string | null {
  if (mount.endsWith(basePath)) return path
  if (!path.startsWith(basePath)) return null
  const rest = path.slice(basePath.length)
  return rest === '' || rest.startsWith('/') ? rest : null
}

/**
 * The base path as it stands in the URL of a request, whose path is `whole`, of which `rest` is below the base.
 *
 * A path that `URL` would rewrite, such as one with `..`, or from which a router has dropped a slash, isn't the one that
 * all routers have seen: what they guard could be reached around them. It gets a base under which there is nothing.
 */
export function basePathInURL(request: Request, whole: string, rest: string): string {
  if (new URL(request.url).pathname !== whole || !whole.endsWith(rest)) return whole
  const base = whole.slice(0, whole.length - rest.length)
  return base.endsWith('/') ? whole : base
}
