import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HttpServer {
  readonly server: Server
  /** Without a trailing slash. */
  readonly url: string
  /** Closes all connections. */
  readonly stop: () => Promise<void>
}

/**
 * Serves on a free port. Keeps idle connections open, because Node closes them after five seconds: on a busy machine, that
 * can happen while a client sends its next request.
 */
export async function startHttpServer(
  listener: RequestListener,
  options: ServerOptions = {},
): Promise<HttpServer> {
  const server = createServer({ keepAliveTimeout: 0, ...options }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
