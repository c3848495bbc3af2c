import { tcpRelay } from '../drivers/tcp-relay.js'

/** A TCP proxy in front of the server that counts round trips and can cut connections. */
export interface WireProxy {
  /** The URL of the server through the proxy. */
  readonly url: string
  /** Number of requests that a client has sent and waits for. Tests reset it to 0. */
  roundTrips: number
  /** Number of times that a client has waited for a description before it sent the rest of a request. */
  descriptions: number
  /** Cuts every connection when the server sends its next response. The client does not receive it. */
  dropNextResponse(): void
  /** Passes on half of what the server sends next, and then ends that connection. */
  halveNextResponse(): void
  /** Cuts every connection now. */
  cut(): void
  close(): Promise<void>
}

const SYNC = 'S'.charCodeAt(0)
const SIMPLE_QUERY = 'Q'.charCodeAt(0)
const FLUSH = 'H'.charCodeAt(0)

export async function wireProxy(target: string): Promise<WireProxy> {
  const url = new URL(target)
  const { hostname, port } = url
  let isDropping = false
  let isHalving = false
  const relay = await tcpRelay(
    () => ({ hostname, port }),
    ({ client, server }) => {
      const messages = messageTypes()
      client.on('data', (chunk) => {
        for (const type of messages(chunk)) {
          if (type === SYNC || type === SIMPLE_QUERY) proxy.roundTrips++
          if (type === FLUSH) proxy.descriptions++
        }
        server.write(chunk)
      })
      server.on('data', (chunk) => {
        if (isDropping) {
          isDropping = false
          relay.cut()
        } else if (isHalving) {
          isHalving = false
          client.end(chunk.subarray(0, chunk.length / 2))
        } else client.write(chunk)
      })
    },
  )
  url.port = String(relay.port)
  url.hostname = '127.0.0.1'
  const proxy: WireProxy = {
    url: url.href,
    roundTrips: 0,
    descriptions: 0,
    dropNextResponse() {
      isDropping = true
    },
    halveNextResponse() {
      isHalving = true
    },
    cut: () => relay.cut(),
    close: () => relay.close(),
  }
  return proxy
}

/** Creates a reader of the message types in a client's byte stream. The first message has no type. */
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
