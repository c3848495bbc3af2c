import { request as forward, type IncomingHttpHeaders } from 'node:http'
import { echoOf, type Echo } from './echo.js'
import { listen, type Listening } from './listening.js'

/** Starts a reverse proxy that serves an application below `/app`, which the application doesn't know. */
export function proxyTo(
  target: Pick<Listening, 'port'>,
  headersOfProxy: IncomingHttpHeaders = {},
): Promise<Listening> {
  return listen((incoming, outgoing) => {
    const headers = { ...incoming.headers, ...headersOfProxy }
    const path = incoming.url!.replace(/^\/app/, '')
    const { method } = incoming
    const onward = forward({ host: '127.0.0.1', port: target.port, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers)
      response.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
}

/** Headers that a proxy adds. */
export const FORWARDED = {
  host: 'internal.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'shop.example:8443',
  'x-forwarded-for': '203.0.113.7',
}

/** Sends a request through a proxy to an echo at `/v1/api/s3`. */
export async function echoThroughProxy(app: Listening): Promise<Echo> {
  const { url } = await proxyTo(app, FORWARDED)
  return echoOf(await fetch(`${url}/app/v1/api/s3/db/objects?limit=1`))
}
