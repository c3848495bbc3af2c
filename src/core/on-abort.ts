type AbortListener = (reason: Error) => void

const listenersOf = new WeakMap<AbortSignal, Set<AbortListener>>()

/**
 * Calls a listener when the signal aborts, and returns a function that removes it. Many calls can share one signal, and
 * Node.js warns of a leak if a signal has more than ten listeners. This module therefore adds only one to each signal.
 */
export function onAbort(signal: AbortSignal, listener: AbortListener): () => void {
  const listeners = listenersOf.get(signal) ?? listenTo(signal)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function listenTo(signal: AbortSignal): Set<AbortListener> {
  const listeners = new Set<AbortListener>()
  listenersOf.set(signal, listeners)
  const abort = () => listeners.forEach((listener) => listener(signal.reason as Error))
  signal.addEventListener('abort', abort, { once: true })
  return listeners
}
