import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A way to the server that sees and can cut what goes over the wire. */
export interface WireProxy {
  /** The server's URL, by way of the proxy. */
  readonly url: string
  /** Times that somebody has asked the server and waited for it, since it was last set: round trips. */
  roundTrips: number
  /** Cuts every connection after the server has done what comes next, before its answer arrives. */
  loseNextAnswer(): void
  /** Cuts every connection now. */
  cut(): void
  close(): Promise<void>
}

const SYNC = 'S'.charCodeAt(0)
const SIMPLE_QUERY = 'Q'.charCodeAt(0)

export async function wireProxy(target: string): Promise<WireProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let losing = false

  const server = createServer((client) => {
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
    const messages = messageTypes()
    client.on('data', (chunk) => {
      for (const type of messages(chunk)) {
        if (type === SYNC || type === SIMPLE_QUERY) proxy.roundTrips++
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (losing) {
        losing = false
        proxy.cut()
      } else client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  url.hostname = '127.0.0.1'

  const proxy: WireProxy = {
    url: url.href,
    roundTrips: 0,
    loseNextAnswer() {
      losing = true
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      proxy.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

/** Reads the types of the messages in what a client sends; the first message has none. */
function messageTypes(): (chunk: Buffer) => number[] {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const types: number[] = []
    for (;;) {
      const header = started ? 5 : 4
      if (rest.length < header) return types
      const length = rest.readInt32BE(header - 4) + header - 4
      if (rest.length < length) return types
      if (started) types.push(rest[0]!)
      started = true
      rest = rest.subarray(length)
    }
  }
}
