import { once } from 'node:events'
import { connect } from 'node:net'

/** Opens a connection that sends many copies of a request at once. */
export async function openPipeline(port) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  let received = Buffer.alloc(0)
  let notify = () => {}
  let isClosed = false
  let isRefused = false
  socket.on('data', (bytes) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
    notify()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    notify()
  })

  /** Takes a complete response off `received`. */
  function take() {
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return null
    const head = received.toString('latin1', 0, end)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (received.length < end + 4 + length) return null
    const body = received.toString('utf8', end + 4, end + 4 + length)
    received = received.subarray(end + 4 + length)
    // Node closes the connection after a request that it can't parse.
    isRefused ||= /\r\nconnection: close/i.test(head)
    return { status: Number(head.slice(9, 12)), body }
  }

  return {
    /** Returns the last response, or `null` if the server refuses to parse the request and has closed the connection. */
    async send(bytes, count) {
      socket.write(Buffer.concat(Array.from({ length: count }, () => bytes)))
      let last = null
      for (let done = 0; done < count;) {
        const response = take()
        if (isRefused || (response === null && isClosed)) return null
        if (response === null) {
          await new Promise((resolve) => (notify = resolve))
        } else {
          last = response
          done++
        }
      }
      return last
    },
    close: () => socket.destroy(),
  }
}
