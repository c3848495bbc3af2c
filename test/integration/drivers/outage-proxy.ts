import { tcpRelay } from './tcp-relay.js'

/** A TCP proxy in front of a server that can go away and come back. */
export interface OutageProxy {
  /** The URL of the server through the proxy. */
  readonly url: string
  /** Cuts all connections, and resets new ones. */
  leave(): void
  comeBack(): void
  close(): Promise<void>
}

export async function outageProxy(target: string): Promise<OutageProxy> {
  const url = new URL(target)
  const { hostname, port } = url
  let isAway = false
  const relay = await tcpRelay(
    () => ({ hostname, port }),
    ({ client, server, cut }) => {
      if (isAway) return cut()
      client.pipe(server)
      server.pipe(client)
    },
  )
  url.hostname = '127.0.0.1'
  url.port = String(relay.port)
  return {
    url: url.href,
    leave() {
      isAway = true
      relay.cut()
    },
    comeBack() {
      isAway = false
    },
    close: () => relay.close(),
  }
}
