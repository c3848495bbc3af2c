import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const running = new Set<Server>()

/** Resolves to the origin of a server once it listens. `closeServers` closes it. */
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
