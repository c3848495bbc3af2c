import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Relayed {
  readonly client: Socket
  readonly server: Socket
  /** Cuts the connection. */
  readonly cut: () => void
}

export interface TcpRelay {
  readonly port: number
  /** Cuts every connection now. */
  cut(): void
  close(): Promise<void>
}

/** Accepts connections of clients, and opens one to a server for each. `relay` passes on what either sends. */
export async function tcpRelay(
  targetOf: () => { readonly hostname: string; readonly port: string },
  relay: (connection: Relayed) => void,
): Promise<TcpRelay> {
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const { hostname, port } = targetOf()
    const server = connect(Number(port), hostname)
    const cut = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    relay({ client, server, cut })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (listener.address() as AddressInfo).port,
    cut,
    async close() {
      cut()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
