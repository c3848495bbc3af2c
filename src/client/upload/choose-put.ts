import type { PutBytes } from './put-bytes.js'
import { putWithFetch } from './put-with-fetch.js'
import { putWithXhr } from './put-with-xhr.js'

/** Only `XMLHttpRequest` tells how much has been sent. */
export function choosePut(fetch: typeof globalThis.fetch): PutBytes {
  return typeof XMLHttpRequest === 'undefined' ? putWithFetch(fetch) : putWithXhr
}
