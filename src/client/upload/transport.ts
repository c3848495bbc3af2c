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
import { MAX_PUTS, type Traffic, trafficOf } from './begin.js'
import type { ReportSent } from './progress.js'
import { readBytes } from './read.js'
import type { UploadContext } from './upload-request.js'

/** A signed URL, valid only with exactly these headers. */
export interface SignedPut {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

interface BytesToSend {
  readonly file: Blob
  readonly progress: ReportSent
  readonly signal: AbortSignal
  /** Called once the bucket may have all bytes. */
  readonly sent?: () => void
}

/** Sends bytes to a signed URL. Rejects if it refuses them, or if there is no response. */
export type PutBytes = (put: SignedPut, bytes: BytesToSend) => Promise<void>

/** Sends bytes. `watch` starts the clock of the request anew. */
type Transport = (
  put: SignedPut,
  bytes: BytesToSend,
  signal: AbortSignal,
  watch: ReturnType<typeof watchdog>,
) => Promise<HttpResponse>

/** Bytes for which a body gets one second more while nothing tells how much of it has been sent. */
const SENT_PER_SECOND = 64 * 1024
/** Bytes that the system may still have to send once the browser has given it all of them. */
const SYSTEM_BUFFER = 4 * 1024 ** 2
/** Bytes for which the bucket gets one second more to respond. */
const STORED_PER_SECOND = 16 * 1024 ** 2

/** Prefers `XMLHttpRequest`, because only it reports upload progress, unless the application gave a `fetch`. */
export function choosePut(context: UploadContext, file: Blob): PutBytes {
  const { fetch, base, stallSeconds } = context
  const traffic = trafficOf(context)
  const isFetched = fetch || typeof XMLHttpRequest === 'undefined' || isForeign(file)
  const withFetch: Transport = ({ url, method, headers }, { file, sent }, signal, watch) =>
    exchange({ signal }, Infinity, askedOf(method), async (own) => {
      if (sent) sent()
      const body = isKnownToFetch(file) ? file : await readBytes(file)
      // The URL carries the permission. The bucket must not get the application's cookies.
      const init: RequestInit = { method, headers, body, credentials: 'omit', signal: own }
      const response = await (fetch || globalThis.fetch)(url, init)
      watch(0)
      return response
    })
  return async (put, bytes) => {
    const { size } = bytes.file
    const url = addressOf(put.url, base)
    const asked = askedOf(put.method)
    const origin = String(/^\w+:\/\/[^/?#]*/.exec(url))
    const isOwn = `${absolute(base)}/`.startsWith(`${origin}/`)
    // Leaves a connection for the calls of the API.
    if (isOwn) traffic.puts.size = MAX_PUTS - 1
    // SvelteKit gives a request without a type no body. Of a bucket, CORS rules may not allow one for a part.
    const headers = isOwn ? { 'content-type': 'application/octet-stream', ...put.headers } : put.headers
    const send = (own: AbortSignal) =>
      new Promise<HttpResponse>((resolve, reject) => {
        const expire = () => reject(withoutResponse(own, asked, new S3ClientError('TIMEOUT', 'timed out.')))
        const watch = watchdog(traffic, stallSeconds, size, expire)
        own.addEventListener('abort', () => watch())
        watch(size)
        ;(isFetched ? withFetch : withXhr)({ ...put, headers, url }, bytes, own, watch).then(resolve, reject)
      })
    const response = await limited({ signal: bytes.signal }, send, asked).catch((error: unknown) => {
      if (isOwn || !isCode(error, 'NETWORK_ERROR')) throw error
      throw new S3ClientError(error.code, `no response from ${origin}.`, { ...asked, cause: error.cause })
    })
    if (response.status >= 300) throw refusal(response, put)
  }
}

function refusal(response: HttpResponse, { method, headers }: SignedPut): S3ClientError {
  const error = responseError(response, askedOf(method))
  if (response.status !== 501 || !headers['if-none-match']) return error
  return new S3ClientError(
    error.code,
    'the bucket lacks conditional writes (501): see createOnly of s3Storage.',
    error,
  )
}

const askedOf = (method: string): Asked => ({ method, path: null })

const withXhr: Transport = ({ url, method, headers }, { file, progress, sent }, signal, watch) =>
  new Promise<HttpResponse>((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.upload.onprogress = ({ loaded }) => {
      watch(0)
      try {
        progress(loaded)
      } catch (error) {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- rethrows the application's value
        reject(error)
      }
    }
    xhr.upload.onload = () => {
      watch(Math.min(file.size, SYSTEM_BUFFER), file.size / STORED_PER_SECOND)
      if (sent) sent()
    }
    xhr.onload = () => {
      const { status, responseText: text } = xhr
      // Browsers print an error if a bucket doesn't let the page read this header.
      const retryAfter = status > 428 ? xhr.getResponseHeader('retry-after') : null
      resolve({ status, text, retryAfter })
    }
    xhr.onerror = () => reject(withoutResponse(signal, askedOf(method)))
    xhr.open(method, url)
    for (const name in headers) xhr.setRequestHeader(name, headers[name]!)
    // Also aborts when the promise has settled: after `progress` threw, the rest must not be sent.
    signal.addEventListener('abort', () => xhr.abort())
    xhr.send(file)
  })

/**
 * Returns a function that starts the clock of a request anew, which expires after `stallSeconds` and some `more`. Each time, the
 * request may have to send some bytes that no progress is told of: behind a service worker, while the browser queues it, and from the
 * buffers of the system. All PUTs share the line, so what the others have in these buffers goes first. Without arguments, the function
 * stops the clock.
 */
function watchdog(traffic: Traffic, stallSeconds: number, size: number, expire: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  return (unseen?: number, more = 0): void => {
    clearTimeout(timer)
    let waited = 0
    const look = () => {
      const ofEachOther = Math.max(unseen!, Math.min(size, SYSTEM_BUFFER))
      const bytes = unseen! + ofEachOther * (traffic.puts.count() - 1)
      // Not all at once, because others may end meanwhile.
      const seconds = Math.min(stallSeconds + more + bytes / SENT_PER_SECOND - waited, stallSeconds)
      waited += seconds
      if (seconds > 0) timer = setTimeout(look, seconds * 1000)
      else expire()
    }
    if (unseen != null) look()
  }
}

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
