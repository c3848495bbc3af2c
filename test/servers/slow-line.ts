import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

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
  const sockets = new Set<Socket>()
  /** The browsers' connections that are open, in the order of their turns. */
  const open: { readonly from: Socket; readonly to: Socket }[] = []
  const line = createServer({ allowHalfOpen: true, highWaterMark: TURN }, (from) => {
    const to = connect({ port: Number(new URL(target).port), host: '127.0.0.1', allowHalfOpen: true })
    open.push({ from, to })
    to.pipe(from)
    from.pause()
    from.on('end', () => to.end())
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
    from.on('close', () =>
      open.splice(
        open.findIndex((pair) => pair.from === from),
        1,
      ),
    )
  })
  let allowed = 0
  const timer = setInterval(() => {
    // What is not used is lost, as on a line.
    allowed = Math.min(allowed, TURN) + (bytesPerSecond * INTERVAL) / 1000
    for (let idle = 0; allowed > 0 && idle < open.length;) {
      const turn = open.shift()!
      open.push(turn)
      const chunk = turn.from.read() as Buffer | null
      idle = chunk ? 0 : idle + 1
      if (!chunk) continue
      allowed -= chunk.length
      turn.to.write(chunk)
    }
  }, INTERVAL)
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        clearInterval(timer)
        line.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
