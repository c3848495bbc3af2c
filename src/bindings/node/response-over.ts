import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const waiting = new WeakMap<Socket, Set<() => void>>()

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
  const listeners = listenersOf(response.req.socket)
  const over = () => {
    if (listeners.delete(over)) listener()
  }
  listeners.add(over)
  response.once('close', over)
}

function listenersOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket)
  if (known) return known
  const listeners = new Set<() => void>()
  waiting.set(socket, listeners)
  socket.once('close', () => listeners.forEach((over) => over()))
  return listeners
}
