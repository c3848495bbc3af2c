export const DEFAULT_BASE_PATH = '/api/s3'

/**
 * A base path as the router wants it: from a slash on, without one at its end; `''` for the root.
 * @throws TypeError for what is no path of a URL.
 */
export function checkBasePath(caller: string, basePath: unknown): string {
  const path = typeof basePath === 'string' ? basePath.replace(/\/+$/, '') : null
  if (path === null || (path !== '' && !isPathname(path))) {
    throw new TypeError(
      `${caller}: basePath must be a path such as "${DEFAULT_BASE_PATH}", not ${JSON.stringify(basePath)}.`,
    )
  }
  return path
}

/** Whether it is the path that a URL makes of it: `//x` names a host, `..` goes away, and a blank is encoded. */
function isPathname(path: string): boolean {
  const base = 'http://localhost'
  return path.startsWith('/') && URL.canParse(path, base) && new URL(path, base).pathname === path
}
