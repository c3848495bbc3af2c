import { unanswered } from './client-error.js'

type Fetch = typeof globalThis.fetch

/**
 * The application's `fetch`, or the global one of the moment. It rejects as soon as its signal aborts: an application's
 * own often answers without looking at it.
 */
export function abortableFetch(given: Fetch | null | undefined): Fetch {
  return async (input, init) => {
    const signal = init?.signal
    signal?.throwIfAborted()
    // Called as a function: the browser's own refuses to be a method of anything else.
    const fetch = given ?? globalThis.fetch
    if (!signal) return fetch(input, init)
    return new Promise((resolve, reject) => {
      const stop = () => reject(unanswered(signal))
      signal.addEventListener('abort', stop)
      fetch(input, init)
        .finally(() => signal.removeEventListener('abort', stop))
        .then(resolve, reject)
    })
  }
}
