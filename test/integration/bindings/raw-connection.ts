import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { deferred } from './deferred.js'

export interface RawResponse {
  readonly status: number
  /** Lines, Latin-1. */
  readonly headers: readonly string[]
  /** UTF-8. */
  readonly body: string
}

/** A connection that sends exact bytes, for requests that no HTTP client would send. */
export class RawConnection {
  readonly socket: Socket
  #received = ''
  #changed = deferred()

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#change(text))
    socket.on('close', () => this.#change(''))
    // In some tests, the server closes the connection.
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

  /** Sends a string as Latin-1, one byte per character. */
  send(text: string): this {
    this.socket.write(text, 'latin1')
    return this
  }

  /** Resolves to the next response, which must have a `Content-Length` or no body. */
  async response(): Promise<RawResponse> {
    for (;;) {
      const parsed = parseResponse(this.#received)
      if (parsed) {
        this.#received = this.#received.slice(parsed.length)
        return parsed.response
      }
      if (this.socket.closed)
        throw new Error(`The connection closed after ${JSON.stringify(this.#received)}.`)
      await this.#changed.promise
    }
  }

  #change(text: string): void {
    this.#received += text
    this.#changed.resolve()
    this.#changed = deferred()
  }

  /** Resolves to the rest once the connection is closed, as Latin-1. */
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
