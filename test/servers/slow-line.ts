import { tcpRelay, type Relayed } from '../integration/drivers/tcp-relay.js'

/** A line to a server that carries so many bytes a second to it, over all its connections, and responses without delay. */
export interface SlowLine {
  /** The server's URL by way of the line, without a trailing slash. */
  readonly url: string
  readonly stop: () => Promise<void>
}

/** How often bytes are passed on, in milliseconds. */
const INTERVAL = 20

/** Connections take turns with so many bytes, like packets of different connections on a line. */
const TURN = 16 * 1024

/** Puts a slow line before a server. A busy machine makes it slower, never faster. */
export async function slowLineTo(target: string, bytesPerSecond: number): Promise<SlowLine> {
  /** The connections that are open, in the order of their turns. */
  const open: Relayed[] = []
  const line = await tcpRelay(
    () => new URL(target),
    (connection) => {
      const { client, server } = connection
      open.push(connection)
      server.pipe(client)
      client.pause()
      client.on('end', () => server.end())
      client.on('close', () => open.splice(open.indexOf(connection), 1))
    },
  )
  let allowed = 0
  const timer = setInterval(() => {
    // What is not used is lost, as on a line.
    allowed = Math.min(allowed, TURN) + (bytesPerSecond * INTERVAL) / 1000
    for (let idle = 0; allowed > 0 && idle < open.length;) {
      const turn = open.shift()!
      open.push(turn)
      const { client, server } = turn
      const chunk = client.read(Math.min(client.readableLength, TURN) || undefined) as Buffer | null
      idle = chunk ? 0 : idle + 1
      if (!chunk) continue
      allowed -= chunk.length
      server.write(chunk)
    }
  }, INTERVAL)
  return {
    url: `http://127.0.0.1:${line.port}`,
    stop() {
      clearInterval(timer)
      return line.close()
    },
  }
}
