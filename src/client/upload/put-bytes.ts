import { unanswered } from '../client-error.js'
import type { ReportSent } from './progress.js'
import { putWithXhr } from './put-with-xhr.js'

/** A signed URL, to be used with exactly these headers. */
export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface BytesToPut {
  readonly file: Blob
  readonly progress: ReportSent
  readonly signal?: AbortSignal | null | undefined
}

/** Sends bytes to a signed URL and resolves to the status of the answer; rejects where none came. */
export type PutBytes = (put: SignedPut, bytes: BytesToPut) => Promise<number>

export function choosePut(fetch: typeof globalThis.fetch): PutBytes {
  return typeof XMLHttpRequest === 'undefined' ? putWithFetch(fetch) : putWithXhr
}

function putWithFetch(fetch: typeof globalThis.fetch): PutBytes {
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
