import { absolute, addressOf, type Fetch, type HttpResponse, send } from '../api-request.js'
import { limited } from '../call-options.js'
import { isCode, responseError, S3ClientError, withoutResponse } from '../client-error.js'
import type { UploadContext } from './upload-request.js'

/** A signed URL, valid only with exactly these headers. */
export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Reports how many bytes have been sent. `Infinity`: all of them. */
export type ReportSent = (bytes: number) => void

interface BytesToSend {
  readonly file: Blob
  readonly progress: ReportSent
  readonly signal: AbortSignal
}

/** Sends bytes to a signed URL. Rejects if it refuses them, or if there is no response. */
export type PutBytes = (put: SignedPut, bytes: BytesToSend) => Promise<void>

/** Sends bytes and resolves to the response. */
type Transport = (...call: Parameters<PutBytes>) => Promise<HttpResponse>

/** Prefers `XMLHttpRequest`, because only it reports upload progress, unless the application gave a `fetch`. */
export function choosePut({ fetch, base }: UploadContext): PutBytes {
  return async (put, bytes) => {
    const isFetched = fetch || typeof XMLHttpRequest === 'undefined' || isForeign(bytes.file)
    const transport = isFetched ? withFetch(fetch) : withXhr
    const url = addressOf(put.url, base)
    const { status, text } = await limited(bytes, (signal) =>
      transport({ ...put, url }, { ...bytes, signal }),
    ).catch((error: unknown) => {
      const [origin, own] = [url, absolute(base)].map((address) => /^\w+:\/\/[^/?#]*/.exec(address)?.[0])
      if (origin === own || !isCode(error, 'NETWORK_ERROR')) throw error
      throw new S3ClientError('NETWORK_ERROR', `No response from ${origin}.`, { cause: error.cause })
    })
    if (status >= 300) throw responseError(status, text)
  }
}

function withFetch(given: Fetch | null | undefined): Transport {
  return async ({ url, method, headers }, { file, signal }) => {
    // The URL carries the permission. The bucket must not get the application's cookies.
    const init = { method, headers, body: await fetchBody(file), credentials: 'omit', signal } as const
    return send(given, url, init)
  }
}

const withXhr: Transport = ({ url, method, headers }, { file, progress, signal }) =>
  new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.upload.onprogress = ({ loaded }) => {
      try {
        progress(loaded)
      } catch (error) {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- rethrows the application's value
        reject(error)
      }
    }
    xhr.onload = () => resolve({ status: xhr.status, text: xhr.responseText })
    xhr.onerror = xhr.onabort = () => reject(withoutResponse(signal))
    xhr.open(method, url)
    for (const name in headers) xhr.setRequestHeader(name, headers[name]!)
    // Also aborts when the promise has settled: after `progress` threw, the rest must not be sent.
    signal.addEventListener('abort', () => xhr.abort())
    xhr.send(file)
  })

/**
 * Returns whether a file is not of the DOM: in a simulated one, such as jsdom's, the runtime's own files are foreign, and
 * `XMLHttpRequest` would send "[object Blob]". Not by `instanceof`, because files of other frames are not foreign.
 */
function isForeign(file: Blob): boolean {
  try {
    new FileReader().readAsText(file.slice(0, 0))
    return false
  } catch {
    return true
  }
}

/**
 * Returns the bytes of a file as a body that every `fetch` understands. The files of simulated DOMs, such as jsdom's, are
 * foreign to the runtime's `fetch`, which would send "[object File]", and the runtime's to that of happy-dom. Without a
 * `FileReader` there is no DOM, and the file is the runtime's own.
 */
function fetchBody(file: Blob): Blob | Promise<Blob | ArrayBuffer> {
  if (typeof FileReader === 'undefined') return file
  return new Promise((resolve, reject) => {
    try {
      // Not `arrayBuffer()`, which the blobs of older versions lack.
      const reader = new FileReader()
      reader.onload = () => resolve(reader.result as ArrayBuffer)
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- becomes the cause of the error
      reader.onerror = () => reject(reader.error)
      reader.readAsArrayBuffer(file)
    } catch {
      // Foreign, or in React Native, whose reader can't do this.
      resolve(file.arrayBuffer ? file.arrayBuffer() : file)
    }
  })
}
