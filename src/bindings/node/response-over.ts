import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Listeners for the end of a response. A property, because an entry in a `WeakMap` per request slows down the garbage collection. */
const LISTENERS = Symbol('listeners')
/** Callbacks that end the responses of a connection. */
const endsOfSocket = new WeakMap<Socket, Set<() => void>>()

type Listening = ServerResponse & { [LISTENERS]?: (() => void)[] }

/** Returns whether nothing can be sent any more: the response is complete, or the client has disconnected. */
export function isOver(response: ServerResponse): boolean {
  return response.closed || response.req.socket.destroyed
}

/**
 * Returns whether a response that is over was sent completely. `writableFinished` is not enough: Node also sets it
 * when an HTTP/2 client resets the stream, and when the connection loses the last bytes.
 */
export function wasSent(response: ServerResponse): boolean {
  return response.writableEnded && response.writableFinished && !response.req.socket.errored
}

/**
 * Calls the listener once when the response is over; immediately if it already is.
 *
 * Also listens to the socket, because a response that waits behind another one on its connection gets no `close` event
 * when the connection closes. Adds a single listener per socket, however many requests are pipelined.
 */
export function whenOver(response: Listening, listener: () => void): void {
  if (isOver(response)) return listener()
  const known = response[LISTENERS]
  if (known) known.push(listener)
  else response[LISTENERS] = onceOver(response, [listener])
}

/** Adds a single listener per response, because Node warns about many. */
function onceOver(response: ServerResponse, listeners: (() => void)[]): (() => void)[] {
  const ends = endsOf(response.req.socket)
  const end = () => {
    if (!ends.delete(end)) return
    for (const listener of listeners) listener()
  }
  ends.add(end)
  response.once('close', end)
  return listeners
}

function endsOf(socket: Socket): Set<() => void> {
  const known = endsOfSocket.get(socket)
  if (known) return known
  const ends = new Set<() => void>()
  endsOfSocket.set(socket, ends)
  socket.once('close', () => ends.forEach((end) => end()))
  return ends
}
