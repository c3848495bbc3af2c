import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Passes each new connection to the next of several servers, as a load balancer in front of replicas does. */
export interface TcpBalancer {
  readonly url: string
  close(): Promise<void>
}

export async function tcpBalancer(targets: readonly [string, string]): Promise<TcpBalancer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((client) => {
    const { hostname, port } = new URL(targets[connections++ % 2 === 0 ? 0 : 1])
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(targets[0])
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
