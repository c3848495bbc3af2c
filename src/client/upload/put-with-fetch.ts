import { unanswered } from '../client-error.js'
import type { PutBytes } from './put-bytes.js'

export function putWithFetch(fetch: typeof globalThis.fetch): PutBytes {
  return async ({ url, method, headers }, { file, signal }) => {
    try {
      const { status } = await fetch(url, {
        method,
        headers,
        body: file,
        // The URL is all the permission there is; cookies are none of the bucket's business.
        credentials: 'omit',
        signal: signal ?? null,
      })
      return status
    } catch (cause) {
      throw unanswered(signal, cause)
    }
  }
}
