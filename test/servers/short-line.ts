import { tcpRelay } from '../integration/drivers/tcp-relay.js'

/** A line to a server that carries only so many bytes of responses over each connection, and then stands still. */
export interface ShortLine {
  /** The server's URL by way of the line, without a trailing slash. */
  readonly url: string
  /** Bytes of responses that all connections have carried. */
  readonly carried: () => number
  readonly stop: () => Promise<void>
}

export async function shortLineTo(target: string, bytesPerConnection: number): Promise<ShortLine> {
  let carried = 0
  const line = await tcpRelay(
    () => new URL(target),
    ({ client, server }) => {
      let left = bytesPerConnection
      client.pipe(server).pipe(client)
      server.on('data', ({ length }) => {
        carried += length
        left -= length
        if (left <= 0) server.unpipe(client).pause()
      })
    },
  )
  return { url: `http://127.0.0.1:${line.port}`, carried: () => carried, stop: () => line.close() }
}
