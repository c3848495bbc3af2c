/** Not `instanceof`: jsdom and polyfills have classes of their own. */
export function isSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null | undefined
  return typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function'
}

type AbortListener = (reason: Error) => void

const listenersOf = new WeakMap<AbortSignal, Set<AbortListener>>()

/** Returns a function that removes the listener. Adds only one to each signal, because Node.js warns of a leak at more than ten. */
export function onAbort(signal: AbortSignal, listener: AbortListener): () => void {
  const listeners = listenersOf.get(signal) ?? listenTo(signal)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Settles like a promise, or rejects with the reason of the signal as soon as that aborts. */
export function unlessAborted<T>(signal: AbortSignal | null, promise: Promise<T>): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, reject)
    void promise.finally(stopListening).then(resolve, reject)
  })
}

function listenTo(signal: AbortSignal): Set<AbortListener> {
  const listeners = new Set<AbortListener>()
  listenersOf.set(signal, listeners)
  const abort = () => listeners.forEach((listener) => listener(signal.reason as Error))
  signal.addEventListener('abort', abort, { once: true })
  return listeners
}
