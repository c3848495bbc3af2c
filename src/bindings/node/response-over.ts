import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What waits for the end of a response. */
const listenersOfResponse = new WeakMap<ServerResponse, (() => void)[]>()
/** What ends the responses of a connection. */
const endsOfSocket = new WeakMap<Socket, Set<() => void>>()

/** Whether nothing can be sent any more: the response was sent to its end, or its client is gone. */
export function isOver(response: ServerResponse): boolean {
  return response.closed || response.req.socket.destroyed
}

/**
 * Whether a response that is over was sent to its end. Node calls one finished as well that a client of HTTP/2 has reset
 * though nobody ended it, and one whose bytes are lost with the connection.
 */
export function wasSent(response: ServerResponse): boolean {
  return response.writableEnded && response.writableFinished && !response.req.socket.errored
}

/**
 * Calls the listener once when the response is over, at once if it is already.
 *
 * A response that waits behind another one of its connection isn't told when that connection closes, so the socket is
 * listened to as well: by one listener for all its requests, however many a client sends at once.
 */
export function whenOver(response: ServerResponse, listener: () => void): void {
  if (isOver(response)) return listener()
  const known = listenersOfResponse.get(response)
  if (known) known.push(listener)
  else listenersOfResponse.set(response, onceOver(response, [listener]))
}

/** By one listener of the response as well: frameworks and middleware add their own, and Node warns of many. */
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
