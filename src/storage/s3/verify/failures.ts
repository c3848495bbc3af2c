import type { Finding } from '../../../core/object-storage.js'
import { printable } from '../../../core/printable.js'
import { notOfS3, otherResponse, quotedResponse, reasonOf, responseOf } from '../calls.js'
import type { UrlResponse } from './signed-urls.js'

/** How a request to the bucket has failed. */
export interface Failure {
  /** `null` without a response. */
  readonly status: number | null
  /** The error code of S3, or the name of an error. */
  readonly code: string
  /** Whether the response is not the XML of S3. */
  readonly isForeign: boolean
  /** Describes the failure, with control characters escaped. */
  readonly reason: string
}

/** Describes what a call of the storage or of the SDK has thrown. */
export function failureOf(thrown: unknown): Failure {
  const error = causeOf(thrown)
  const { status = null, name = '' } = responseOf(error)
  const isForeign = status !== null && otherResponse(error as Error) !== null
  return { status, code: name || nameOf(error), isForeign, reason: printable(reasonOf(error)) }
}

/** Returns the error of the SDK, which the storage wraps. */
function causeOf(thrown: unknown): unknown {
  const { cause } = Object(thrown) as { readonly cause?: unknown }
  // Node's error of a host with several addresses has no message, but one error for each of them.
  const { errors } = Object(cause ?? thrown) as { readonly errors?: unknown }
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : (cause ?? thrown)
}

function nameOf(error: unknown): string {
  return String((Object(error) as Partial<Error>).name)
}

/** Describes the response to a signed URL, unless it is a success. */
export function failureOfURL({ status, headers, body }: UrlResponse): Failure | null {
  if (status >= 200 && status < 300) return null
  const text = new TextDecoder().decode(body)
  const code = /<Code>([^<]*)<\/Code>/.exec(text)?.[1]
  const message = /<Message>([^<]*)<\/Message>/.exec(text)?.[1]
  if (code === undefined && text !== '') {
    const reason = notOfS3(status, quotedResponse(headers['content-type'], text))
    return { status, code: '', isForeign: true, reason }
  }
  const reason = `HTTP ${status}${code ? ` ${code}` : ''}${message ? `: ${message}` : ''}`
  return { status, code: code ?? '', isForeign: false, reason: printable(reason) }
}

/** Collects findings. Says once which permission is missing, although several requests need it. */
export class FindingList {
  readonly #findings = new Map<string, Finding>()

  add(part: Finding['part'], message: string, subject = message): void {
    if (!this.#findings.has(subject)) this.#findings.set(subject, { part, message })
  }

  get all(): readonly Finding[] {
    return [...this.#findings.values()]
  }
}

/** Errors of credentials, which every request gets. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  ...['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'],
  ...['CredentialsProviderError', 'InvalidSecurity', 'AccountProblem'],
])

export function isOfCredentials({ code }: Failure): boolean {
  return CREDENTIALS.has(code)
}

/** The bucket is in another region than the client. */
export function isOfRegion({ status, code }: Failure): boolean {
  return status === 301 || status === 307 || code === 'AuthorizationHeaderMalformed'
}
