import type { Fetch } from '../api-request.js'
import { abortable } from '../call-options.js'
import { responseError, withoutResponse } from '../client-error.js'
import { fetchBody } from './fetch-body.js'
import type { Transfer } from './transfer.js'

/** A signed URL, valid only with exactly these headers. */
export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Sends bytes to a signed URL. Rejects if it refuses them, or if there is no response. */
export type PutBytes = (
  put: SignedPut,
  bytes: Pick<Transfer, 'file' | 'progress' | 'signal'>,
) => Promise<void>

/** Prefers `XMLHttpRequest`, because only it reports upload progress, unless the application gave a `fetch`. */
export function choosePut(given: Fetch | null | undefined): PutBytes {
  return given || typeof XMLHttpRequest === 'undefined' ? putWithFetch(given || fetch) : putWithXhr
}

function putWithFetch(fetch: Fetch): PutBytes {
  return ({ url, method, headers }, { file, signal }) =>
    abortable(signal, async () => {
      let status: number
      let text = ''
      try {
        const response = await fetch(url, {
          method,
          headers,
          body: await fetchBody(file),
          // The URL carries the permission. The bucket must not get the application's cookies.
          credentials: 'omit',
          signal,
        })
        status = response.status
        if (status >= 300) text = await response.text()
      } catch (cause) {
        throw withoutResponse(signal, cause)
      }
      if (status >= 300) throw responseError(status, text)
    })
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
    xhr.onload = () => {
      if (xhr.status < 300) resolve()
      else reject(responseError(xhr.status, xhr.responseText))
    }
    xhr.onerror = xhr.onabort = () => reject(withoutResponse(signal))
    xhr.onloadend = () => signal.removeEventListener('abort', stop)
    xhr.open(method, url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    signal.addEventListener('abort', stop)
    xhr.send(file)
  })
