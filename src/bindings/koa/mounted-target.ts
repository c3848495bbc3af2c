import type { MountedPath } from '../node/base-path-match.js'
import { originForm, pathOf } from '../node/request-target.js'

/** The two forms in which Koa keeps the target of a request. */
export interface KoaTargets {
  /** As the client sent it. */
  readonly originalUrl: string
  /** What middleware has left of it; koa-mount cuts off the path where it has mounted. */
  readonly url: string
}

/** The target of a request as koa-mount has split it. */
export interface MountedTarget extends MountedPath {
  /** Mount path and what is left of the path: as the client knows it, unless the application has rewritten `ctx.url`. */
  readonly whole: string
  /** From `?` or `#` on, or `''`. */
  readonly query: string
}

/**
 * Koa itself has no mount paths, and koa-mount tells the last one only; so it is what the client asked for in front of
 * what is left. A path that isn't the end of what was asked for has been rewritten, and stands for itself.
 */
export function mountedTarget({ originalUrl, url }: KoaTargets): MountedTarget {
  const asked = pathOf(originForm(originalUrl))
  const left = originForm(url)
  const path = pathOf(left)
  const query = left.slice(path.length)
  if (asked.endsWith(path)) return { mount: asked.slice(0, -path.length), path, whole: asked, query }
  // At the end of a mount path, koa-mount leaves a slash that nobody has sent.
  return path === '/' ? { mount: asked, path, whole: asked, query } : { mount: '', path, whole: path, query }
}
