import type { GetObjectCommand, PutObjectCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { StorageError } from '../../core/errors.js'
import { onAbort } from '../../core/on-abort.js'
import { CREATE_ONLY_ADVICE, type BytesReference } from '../../core/object-storage.js'
import { printable } from '../../core/printable.js'
import { isBuiltIn } from '../../core/realms.js'

/** The limit of `setTimeout`, which fires a longer timer immediately. */
export const MAX_TIMEOUT_SECONDS = 2_147_483

/** The slowest connection to the bucket that a write allows for, in bytes per second. */
const SLOWEST_CONNECTION = 256 * 1024

/** Sends a command to the bucket, within the time of its call. */
export type Send = S3Client['send']

/** Runs one storage operation against the bucket. */
export type RunBucketCall = <Input extends Pick<BytesReference, 'bucket' | 'signal'>, T>(
  /** The method name in `ObjectStorage`. */
  operation: string,
  input: Input,
  call: (send: Send, input: Input) => Promise<T>,
  /** Replaces the usual timeout, and the client's own one, which may be shorter. */
  longerSeconds?: number,
) => Promise<T>

/** Creates a runner that enforces a timeout and wraps errors with the operation and the bucket. */
export function bucketCalls(
  client: S3Client,
  { timeoutSeconds, createOnly }: { readonly timeoutSeconds: number; readonly createOnly: boolean },
): RunBucketCall {
  return async (operation, input, call, longerSeconds) => {
    const { bucket, signal } = input
    const requestTimeout = longerSeconds && { requestTimeout: longerSeconds * 1000 }
    try {
      return await withTimeout(longerSeconds ?? timeoutSeconds, signal, (abortSignal) => {
        const send = (command: Parameters<Send>[0]) =>
          client.send(command, { abortSignal, ...requestTimeout })
        return repeatedAfterConflicts(abortSignal, () => call(send as Send, input))
      })
    } catch (error) {
      if (signal?.aborted || error instanceof StorageError) throw error
      const isConditional = createOnly && operation === 'write' && responseOf(error).status === 501
      const advice = isConditional ? `. ${CREATE_ONLY_ADVICE}` : ''
      const failure = callError(operation, bucket, reasonOf(error) + advice, error)
      if (responseOf(error).name === 'InvalidObjectState') throw archived(error, failure)
      // Of other calls, it wouldn't tell what an earlier write has stored.
      throw operation === 'write' ? Object.assign(failure, { isRefusal: isRefusal(error) }) : failure
    }
  }
}

export function callError(operation: string, bucket: string, reason: string, cause?: unknown): Error {
  return new Error(`s3Storage: ${operation} failed in bucket ${JSON.stringify(bucket)}: ${reason}`, { cause })
}

/** Builds the error for bytes that a lifecycle rule has moved to an archive. */
function archived(error: unknown, cause: Error): StorageError {
  const { StorageClass = 'unknown' } = error as { readonly StorageClass?: string }
  const message = `The bytes are archived (storage class ${StorageClass}). Restore them in the bucket before reading them.`
  return new StorageError('STORAGE_UNAVAILABLE', { message, cause, retryable: false })
}

/** Adds to a timeout the time that a slow connection needs to send these bytes. */
export function secondsToSend({ byteLength }: Uint8Array, timeoutSeconds: number): number {
  return Math.min(timeoutSeconds + Math.ceil(byteLength / SLOWEST_CONNECTION), MAX_TIMEOUT_SECONDS)
}

/** How long to wait before each repeat of a call that conflicts with another one, in milliseconds. */
const CONFLICT_PAUSES = [250, 500, 1000, 2000]

/** Repeats a call while the service refuses it because it is working on another one for the same key. */
async function repeatedAfterConflicts<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (const pause of CONFLICT_PAUSES) {
    try {
      return await call()
    } catch (error) {
      const { status, name = '' } = responseOf(error)
      if (status !== 409 || !['ConditionalRequestConflict', 'OperationAborted'].includes(name)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, pause))
    signal.throwIfAborted()
  }
  return call()
}

/** A call took too long. The bucket may have processed it. */
class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/** Runs a call. Rejects with a TimeLimitError or the caller's abort reason, even if the call ignores its signal. */
export async function withTimeout<T>(
  seconds: number,
  caller: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted()
  const controller = new AbortController()
  const { signal } = controller
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
  const stopListening = caller && onAbort(caller, (reason) => controller.abort(reason))
  const timeOut = () => controller.abort(new TimeLimitError(`no response within ${seconds} s`))
  const timer = setTimeout(timeOut, seconds * 1000)
  try {
    return await Promise.race([call(signal), ended])
  } finally {
    clearTimeout(timer)
    stopListening?.()
  }
}

/** Describes an error for the operator. The message of the SDK is often only `UnknownError`. */
export function reasonOf(error: unknown): string {
  if (!isBuiltIn(error, 'Error')) return String(error)
  const { status, name } = responseOf(error)
  const other = otherResponse(error)
  if (status !== undefined && other !== null) return notOfS3(status, other)
  const detail = error.message === '' || error.message === 'UnknownError' ? '' : `: ${error.message}`
  return status === undefined ? `${error.name}${detail}` : `HTTP ${status} ${name}${detail}`
}

/** Describes a response that is none of S3. */
export function notOfS3(status: number, quoted: string): string {
  return `HTTP ${status}, and not a response of S3: ${quoted}`
}

/** How much of a response is quoted, in characters. */
const QUOTED = 200

/** Quotes the media type and the beginning of a response. */
export function quotedResponse(type = 'no content type', text: string | null = null): string {
  return printable(text === null ? type : `${type}, ${JSON.stringify(text.slice(0, QUOTED))}`)
}

/** Describes a response whose body is not the XML of S3, such as the page of a proxy. Returns `null` for any other. */
export function otherResponse(error: Error): string | null {
  const { $response, $responseBodyText } = error as {
    readonly $response?: { readonly headers?: Readonly<Record<string, string>> }
    readonly $responseBodyText?: unknown
  }
  const isXML = error.name !== 'Unknown' && $responseBodyText === undefined
  if (isXML || !$response) return null
  const text = typeof $responseBodyText === 'string' ? $responseBodyText : null
  return quotedResponse($response.headers?.['content-type'], text)
}

/** The errors that say that something is not there. */
const NOT_FOUND = ['NotFound', 'NoSuchKey', 'NoSuchUpload']

/** Returns what is known of an error response. Nothing for any other error. */
export function responseOf(error: unknown): {
  status?: number
  name?: string
  attempts?: number | undefined
} {
  if (!isBuiltIn(error, 'Error')) return {}
  // As mocks of the SDK throw them.
  if (!('$metadata' in error)) return NOT_FOUND.includes(error.name) ? { status: 404, name: error.name } : {}
  const { httpStatusCode: status, attempts } = error.$metadata as {
    readonly httpStatusCode?: number
    readonly attempts?: number
  }
  return status === undefined ? {} : { status, name: error.name, attempts }
}

/** Returns whether S3 has refused a call, and no earlier try of it can have taken effect. */
function isRefusal(error: unknown): boolean {
  const { status = 0, attempts } = responseOf(error)
  // The service doesn't support the request, or its version of HTTP.
  if (status === 501 || status === 505) return attempts === 1
  return status >= 400 && status < 500 && ![408, 409, 429].includes(status) && attempts === 1
}

/** Returns a handler of rejections that replaces the errors of a kind by a value. */
export function valueIf<T>(isExpected: (error: unknown) => boolean, value: T): (error: unknown) => T {
  return (error) => {
    if (isExpected(error)) return value
    throw error
  }
}

export function incompleteResponse(missing = 'fields that S3 guarantees'): Error {
  return new Error(`the response lacks ${missing}`)
}

/** Decodes a key of a listing, in which S3 encodes a space as `+`. */
export function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** Removes the SDK's checksum. In a URL it is that of an empty body, and S3 refuses it in parts of uploads created without one. */
export function removeChecksums(command: PutObjectCommand | UploadPartCommand | GetObjectCommand): void {
  const { middlewareStack } = command as PutObjectCommand
  middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { readonly headers: Record<string, string> }
      for (const name of Object.keys(headers)) {
        if (/^x-amz-(?:sdk-)?checksum-/i.test(name)) delete headers[name]
      }
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'removeChecksums' },
  )
}
