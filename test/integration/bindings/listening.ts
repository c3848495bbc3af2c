import type { RequestListener, Server, ServerOptions } from 'node:http'
import { onTestFinished } from 'vitest'
import { startHttpServer } from '../../servers/http-server.js'

export interface Listening {
  readonly server: Server
  readonly port: number
  readonly host: string
  /** Without a trailing slash. */
  readonly url: string
}

/** Listens until the end of the test. */
export async function listen(listener: RequestListener, options?: ServerOptions): Promise<Listening> {
  const { server, url, stop } = await startHttpServer(listener, options)
  onTestFinished(() => void stop())
  const { host, port } = new URL(url)
  return { server, port: Number(port), host, url }
}
