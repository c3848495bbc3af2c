import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const running = new Set<Server>()

/** Where a server listens, once it does. It is closed at the end of the tests. */
export async function originOf(server: Server): Promise<string> {
  running.add(server)
  if (!server.listening) await once(server, 'listening')
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

export async function closeServers(): Promise<void> {
  for (const server of running) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  running.clear()
}
