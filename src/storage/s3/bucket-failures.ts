/** What the SDK makes of an error that a bucket service answered. */
interface AnsweredError {
  readonly name: string
  readonly status: number
}

function answeredBy(error: unknown): AnsweredError | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null
  const { httpStatusCode: status } = error.$metadata as { readonly httpStatusCode?: number }
  return status === undefined ? null : { name: error.name, status }
}

/** An answer to HEAD that has no body, and so can't say what it is that isn't there: the object, or the bucket. */
export function isNotFound(error: unknown): boolean {
  return answeredBy(error)?.status === 404
}

/** Something about the request is wrong, or about the object for which it asks. */
export function isBadRequest(error: unknown): boolean {
  return answeredBy(error)?.status === 400
}

/** A refusal that says why: the object can be read only with the key by which its writer had it encrypted (SSE-C). */
export function isSealed(error: unknown): boolean {
  return isBadRequest(error) && /encrypt|SSE/i.test((error as Error).message)
}

/** There is no such upload. Ceph says of some calls that there is no such key. */
export function isNoSuchUpload(error: unknown): boolean {
  return ['NoSuchUpload', 'NoSuchKey'].includes(answeredBy(error)?.name ?? '')
}

/** A part is not there, or not with this ETag. */
export function isInvalidPart(error: unknown): boolean {
  return answeredBy(error)?.name === 'InvalidPart'
}

/** The service itself failed. */
export function isServerError(error: unknown): boolean {
  return (answeredBy(error)?.status ?? 0) >= 500
}

/** What went wrong, for the operator; the SDK alone often says no more than `UnknownError`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const answered = answeredBy(error)
  const what = error.message === '' || error.message === 'UnknownError' ? '' : `: ${error.message}`
  return answered ? `HTTP ${answered.status} ${answered.name}${what}` : `${error.name}${what}`
}
