import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Listening {
  readonly server: Server
  readonly port: number
  readonly host: string
  /** Without a trailing slash. */
  readonly url: string
}

/** Listens until the end of the test. */
export async function listen(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return { server, port, host, url: `http://${host}` }
}
