import { limited } from './call-options.js'

/**
 * Returns a promise that resolves the next time that the browser comes online, or `null` if it doesn't know that it has no
 * network.
 */
export function offline(signal: AbortSignal): Promise<unknown> | null {
  if (typeof navigator !== 'object' || navigator.onLine !== false) return null
  return limited(
    { signal },
    () => new Promise((resolve) => addEventListener('online', resolve, { once: true })),
  )
}
