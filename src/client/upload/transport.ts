import { absolute, addressOf, exchange } from '../api-request.js'
import { limited } from '../call-options.js'
import {
  type Asked,
  type HttpResponse,
  isCode,
  responseError,
  S3ClientError,
  withoutResponse,
} from '../client-error.js'
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
  /** Called once the bucket may have all bytes. */
  readonly sent?: () => void
}

/** Sends bytes to a signed URL. Rejects if it refuses them, or if there is no response. */
export type PutBytes = (put: SignedPut, bytes: BytesToSend) => Promise<void>

/** Sends bytes and resolves to the response. `seconds` limits each wait for progress. */
type Transport = (put: SignedPut, bytes: BytesToSend, seconds: number, asked: Asked) => Promise<HttpResponse>

/** Bytes for which a body gets one second more, where nothing tells how much of it has been sent. */
const SENT_PER_SECOND = 64 * 1024
/** Bytes for which the bucket gets one second more to respond. */
const STORED_PER_SECOND = 16 * 1024 ** 2

/** Prefers `XMLHttpRequest`, because only it reports upload progress, unless the application gave a `fetch`. */
export function choosePut({ fetch, base, stallSeconds }: UploadContext, file: Blob): PutBytes {
  const isFetched = fetch || typeof XMLHttpRequest === 'undefined' || isForeign(file)
  const withFetch: Transport = ({ url, method, headers }, { file, signal, sent }, seconds, asked) =>
    exchange({ signal }, seconds + file.size / SENT_PER_SECOND, asked, async (own) => {
      if (sent) sent()
      const body = isKnownToFetch(file) ? file : await readBytes(file)
      // The URL carries the permission. The bucket must not get the application's cookies.
      return (fetch || globalThis.fetch)(url, { method, headers, body, credentials: 'omit', signal: own })
    })
  return async (put, bytes) => {
    const url = addressOf(put.url, base)
    const asked = { method: put.method, path: null }
    const response = await (isFetched ? withFetch : withXhr)(
      { ...put, url },
      bytes,
      stallSeconds,
      asked,
    ).catch(async (error: unknown) => {
      if (!isCode(error, 'NETWORK_ERROR')) throw error
      await readBytes(bytes.file.slice(0, 1))
      const origin = String(/^\w+:\/\/[^/?#]*/.exec(url))
      if (`${absolute(base)}/`.startsWith(`${origin}/`)) throw error
      throw new S3ClientError(error.code, `no response from ${origin}.`, { ...asked, cause: error.cause })
    })
    if (response.status >= 300) throw responseError(response, asked)
  }
}

const withXhr: Transport = ({ url, method, headers }, { file, progress, signal, sent }, seconds, asked) =>
  limited(
    { signal },
    (own) =>
      new Promise<HttpResponse>((resolve, reject) => {
        const xhr = new XMLHttpRequest()
        let timer: ReturnType<typeof setTimeout> | undefined
        const limit = (more = 0) => {
          clearTimeout(timer)
          const expire = () => reject(withoutResponse(own, asked, new S3ClientError('TIMEOUT', 'timed out.')))
          timer = setTimeout(expire, (seconds + more) * 1000)
        }
        limit()
        xhr.upload.onprogress = ({ loaded }) => {
          limit()
          try {
            progress(loaded)
          } catch (error) {
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- rethrows the application's value
            reject(error)
          }
        }
        xhr.upload.onload = () => {
          limit(file.size / STORED_PER_SECOND)
          if (sent) sent()
        }
        xhr.onload = () => {
          const { status, responseText: text } = xhr
          // Browsers print an error if a bucket doesn't let the page read this header.
          const retryAfter = status > 428 ? xhr.getResponseHeader('retry-after') : null
          resolve({ status, text, retryAfter })
        }
        xhr.onerror = () => reject(withoutResponse(own, asked))
        xhr.open(method, url)
        for (const name in headers) xhr.setRequestHeader(name, headers[name]!)
        // Also aborts when the promise has settled: after `progress` threw, the rest must not be sent.
        own.addEventListener('abort', () => {
          clearTimeout(timer)
          xhr.abort()
        })
        xhr.send(file)
      }),
    asked,
  )

/**
 * Returns whether a file is not of the DOM: in a simulated one, such as jsdom's, the application's tests use the runtime's files with
 * the runtime's `fetch`. Not by `instanceof`, because files of other frames are not foreign.
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
 * Returns whether a file is one for `fetch`, which can then stream it. The files of simulated DOMs are foreign to the runtime's
 * `fetch`, which would send "[object File]", and the runtime's to that of happy-dom.
 */
function isKnownToFetch(file: Blob): boolean {
  try {
    return new Response(file.slice(0, 0, 'a/b')).headers.get('content-type') === 'a/b'
  } catch {
    return false
  }
}

/**
 * Reads a file in every runtime. Without a `FileReader` there is no DOM, and the file is the runtime's own. Resolves to the file
 * itself where it can't be read. Rejects with `FILE_UNREADABLE` if reading fails.
 */
export function readBytes(file: Blob): Promise<Blob | ArrayBuffer> {
  return new Promise<Blob | ArrayBuffer>((resolve, reject) => {
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
  }).catch((cause: unknown) => {
    throw new S3ClientError('FILE_UNREADABLE', 'The file could not be read.', { cause })
  })
}
