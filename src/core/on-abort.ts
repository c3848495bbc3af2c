type AbortListener = (reason: Error) => void

const listenersOf = new WeakMap<AbortSignal, Set<AbortListener>>()

/** Returns a function that removes the listener. Adds only one to each signal, because Node.js warns of a leak at more than ten. */
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
