import { withoutResponse } from '../client-error.js'
import type { Transfer } from './transfer.js'

/** A signed URL, valid only with exactly these headers. */
export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Sends bytes to a signed URL. Resolves to the status of the response; rejects if there is none. */
export type PutBytes = (
  put: SignedPut,
  bytes: Pick<Transfer, 'file' | 'progress' | 'signal'>,
) => Promise<number>

/** Prefers `XMLHttpRequest`, because only it reports upload progress. */
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
        // The URL carries the permission. The bucket must not get the application's cookies.
        credentials: 'omit',
        signal: signal ?? null,
      })
      return status
    } catch (cause) {
      throw withoutResponse(signal, cause)
    }
  }
}

const putWithXhr: PutBytes = ({ url, method, headers }, { file, progress, signal }) =>
  new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    const stop = () => xhr.abort()
    xhr.upload.onprogress = ({ loaded }) => {
      try {
        progress(loaded)
      } catch (error) {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- rethrows the application's value
        reject(error)
        stop()
      }
    }
    xhr.onload = () => resolve(xhr.status)
    xhr.onerror = xhr.onabort = () => reject(withoutResponse(signal))
    xhr.onloadend = () => signal?.removeEventListener('abort', stop)
    xhr.open(method, url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    signal?.addEventListener('abort', stop)
    xhr.send(file)
  })
