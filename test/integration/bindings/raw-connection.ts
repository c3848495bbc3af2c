import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { occurrence } from './occurrence.js'

export interface RawResponse {
  readonly status: number
  /** Lines, Latin-1. */
  readonly headers: readonly string[]
  /** UTF-8. */
  readonly body: string
}

/** A connection that sends exactly the bytes it is given, for what no HTTP client would send. */
export class RawConnection {
  readonly socket: Socket
  #received = ''
  #changed = occurrence()

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#change(text))
    socket.on('close', () => this.#change(''))
    // A server that cuts the connection is what some tests ask for.
    socket.on('error', () => undefined)
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  get bytesReceived(): number {
    return this.#received.length
  }

  /** Latin-1: a byte a character. */
  send(text: string): this {
    this.socket.write(text, 'latin1')
    return this
  }

  /** The next response of this connection; it must have a `Content-Length` or no body. */
  async response(): Promise<RawResponse> {
    for (;;) {
      const parsed = parseResponse(this.#received)
      if (parsed) {
        this.#received = this.#received.slice(parsed.length)
        return parsed.response
      }
      if (this.socket.closed)
        throw new Error(`The connection closed after ${JSON.stringify(this.#received)}.`)
      await this.#changed.happened
    }
  }

  #change(text: string): void {
    this.#received += text
    this.#changed.happen()
    this.#changed = occurrence()
  }

  /** What came until the connection was closed, Latin-1. */
  async rest(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, 'close')
    return this.#received
  }
}

function parseResponse(text: string): { response: RawResponse; length: number } | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [statusLine = '', ...headers] = text.slice(0, end).split('\r\n')
  const contentLength = Number(/^content-length: (\d+)$/im.exec(headers.join('\n'))?.[1] ?? 0)
  const length = end + 4 + contentLength
  if (text.length < length) return null
  const body = Buffer.from(text.slice(end + 4, length), 'latin1').toString()
  return { response: { status: Number(statusLine.split(' ')[1]), headers, body }, length }
}
