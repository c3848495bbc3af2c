import type { PlainResponse } from '../../core/http/response.js'
import { headerOf, LISTS, startBody, streamOf, whenOver } from '../node/response.js'
import { checkServed, type Served } from '../node/served.js'
import { belowBase, pathInURL, segmentsOf, splitAfter } from '../node/url.js'
import { bodyOf, fetchRequest, nodeOf, type IncomingHonoContext } from './hono-context.js'

export type { Served } from '../node/served.js'
export { fetchRequest, honoContext, type IncomingHonoContext } from './hono-context.js'

/** Middleware for Hono 4. Generic, to keep the application's own context type. */
export type HonoMiddleware = <C extends IncomingHonoContext>(
  c: C,
  next: () => Promise<void>,
) => Promise<Response | void>

/**
 * Creates Hono middleware that serves the library: `app.use(honoBinding(s3))`, also in an application that another one
 * includes by `app.route` or in a base path. It handles all requests below the library's base path, and passes others to
 * the next handler. It runs wherever Hono does.
 *
 * @throws TypeError unless the argument is the result of `createS3Server` or `db`.
 */
export function honoBinding(s3: Served): HonoMiddleware {
  const { handler, basePath } = checkServed(s3, 'honoBinding')
  return async function honoBinding(c, next) {
    const path = pathInURL(c.req.raw.url)
    const rest = belowRoute(basePath, path, c.req.routePath)
    if (rest === null) return next()
    const base = path.slice(0, path.length - rest.length)
    const request = fetchRequest(c)
    return setResponse(await handler(request, { basePath: base, body: await bodyOf(c) }), c)
  }
}

/**
 * Returns the path below the base path, or `null`. In Hono, the pattern of a route is either a prefix that other
 * applications don't see, or a filter for the whole path, so the base path may start after any part of it.
 */
function belowRoute(basePath: string, path: string, routePath: string): string | null {
  const segments = segmentsOf(routePath).filter((segment) => segment !== '*').length
  for (let count = segments; count >= 0; count--) {
    const split = splitAfter(path, count)
    const rest = belowBase(basePath, count === segments ? split : { ...split, mount: '' })
    if (rest !== null) return rest
  }
  return null
}

/** What Hono's types allow for known statuses only, so it is missing in the type of the binding. */
interface SendingHonoContext extends IncomingHonoContext {
  body(text: string, status: number, headers: Readonly<Record<string, string>>): Response
}

/**
 * Sets the response of a context. Keeps headers that were set before, unless the response has them too. Middleware around the
 * binding can change the result.
 *
 * @throws the error of the body if it fails before its first bytes.
 */
async function setResponse(source: PlainResponse, c: IncomingHonoContext): Promise<Response> {
  const { status, headers, body } = source
  const response =
    // The library's JSON has no headers that would have to extend those that were set before.
    typeof body === 'string'
      ? (c as SendingHonoContext).body(body, status, Object.fromEntries(headers))
      : new Response(await contentOf(source, c), { status, headers: extendedHeaders(source, c.res) })
  // Hono would otherwise let headers that were set before win.
  c.res = undefined
  c.res = response
  return response
}

function extendedHeaders(source: PlainResponse, before: Response): Headers {
  const headers = new Headers(before.headers)
  for (const [name, value] of source.headers) {
    if (LISTS.has(name)) headers.append(name, value)
    else headers.set(name, value)
  }
  return headers
}

/** What a `Response` is made of. `BodyInit` is a type of browsers. */
type ResponseBody = Exclude<ConstructorParameters<typeof Response>[0], undefined>

async function contentOf(source: PlainResponse, c: IncomingHonoContext): Promise<ResponseBody> {
  const { method, signal } = c.req.raw
  const { outgoing } = nodeOf(c)
  // Workers find the length only of a body that is passed on as it is. The adapter for Node.js finds it in the headers, and Node 20
  // doesn't cancel the body of a response that waits behind another one when the connection closes.
  if (!outgoing && method !== 'HEAD' && headerOf(source, 'content-length') !== undefined) return source.body

  const body = await startBody(source, method, (cancel) => {
    if (outgoing) whenOver(outgoing, cancel)
    else if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
  })
  if (body.whole !== undefined) return body.whole as ResponseBody
  return streamOf(
    () => body.read(),
    () => body.cancel(),
  )
}
