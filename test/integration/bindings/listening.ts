import type { RequestListener, Server } from 'node:http'
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
export async function listen(listener: RequestListener): Promise<Listening> {
  const { server, url, stop } = await startHttpServer(listener)
  onTestFinished(() => void stop())
  const { host, port } = new URL(url)
  return { server, port: Number(port), host, url }
}
