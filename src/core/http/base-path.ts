export const DEFAULT_BASE_PATH = '/api/s3'

/**
 * Returns a base path with a leading slash and without a trailing one; `''` for the root.
 * @throws TypeError unless it is a valid URL path.
 */
export function checkBasePath(caller: string, basePath: unknown): string {
  const path = typeof basePath === 'string' ? withoutTrailingSlash(basePath) : null
  if (path === null || (path !== '' && !isPathname(path))) {
    throw new TypeError(
      `${caller}: basePath must be a path such as "${DEFAULT_BASE_PATH}" (got ${JSON.stringify(basePath)}).`,
    )
  }
  return path
}

/** Removes all slashes at the end of a path or URL. */
export function withoutTrailingSlash(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** Returns whether a URL parser leaves the path unchanged: `//x` would be a host, `..` is resolved and spaces are encoded. */
function isPathname(path: string): boolean {
  const base = 'http://localhost'
  return path.startsWith('/') && URL.canParse(path, base) && new URL(path, base).pathname === path
}
