import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A line to a server that carries only so many bytes of responses over each connection, and then stands still. */
export interface ShortLine {
  /** The server's URL by way of the line, without a trailing slash. */
  readonly url: string
  /** Bytes of responses that all connections have carried. */
  readonly carried: () => number
  readonly stop: () => Promise<void>
}

export async function shortLineTo(target: string, bytesPerConnection: number): Promise<ShortLine> {
  const sockets = new Set<Socket>()
  let carried = 0
  const line = createServer({ allowHalfOpen: true }, (from) => {
    const to = connect({ port: Number(new URL(target).port), host: '127.0.0.1', allowHalfOpen: true })
    let left = bytesPerConnection
    from.pipe(to).pipe(from)
    to.on('data', ({ length }) => {
      carried += length
      left -= length
      if (left <= 0) to.unpipe(from).pause()
    })
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    carried: () => carried,
    stop: () =>
      new Promise((resolve) => {
        line.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
