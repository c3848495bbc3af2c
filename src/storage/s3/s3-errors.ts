/** An error response of the bucket, as the SDK reports it. */
interface ErrorResponse {
  readonly name: string
  readonly status: number
}

function responseOf(error: unknown): ErrorResponse | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null
  const { httpStatusCode: status } = error.$metadata as { readonly httpStatusCode?: number }
  return status === undefined ? null : { name: error.name, status }
}

/** Returns whether the status is 404. A response to HEAD has no body to say which is missing, the object or the bucket. */
export function isNotFound(error: unknown): boolean {
  return responseOf(error)?.status === 404
}

/** Returns whether the status is 400: the request is invalid, or does not fit the object. */
export function isBadRequest(error: unknown): boolean {
  return responseOf(error)?.status === 400
}

/** Returns whether the object is encrypted with a key that only its writer has (SSE-C). */
export function isCustomerEncrypted(error: unknown): boolean {
  return isBadRequest(error) && /encrypt|SSE/i.test((error as Error).message)
}

/** Returns whether the upload does not exist. Ceph responds with NoSuchKey to some calls. */
export function isNoSuchUpload(error: unknown): boolean {
  return ['NoSuchUpload', 'NoSuchKey'].includes(responseOf(error)?.name ?? '')
}

/** Returns whether the object does not exist, in a bucket that does. */
export function isNoSuchKey(error: unknown): boolean {
  return responseOf(error)?.name === 'NoSuchKey'
}

/** Returns whether something is stored under the key already. */
export function isPreconditionFailed(error: unknown): boolean {
  return responseOf(error)?.status === 412
}

/** Returns whether a part is missing or has another ETag. */
export function isInvalidPart(error: unknown): boolean {
  return responseOf(error)?.name === 'InvalidPart'
}

/** Returns whether the service itself failed. */
export function isServerError(error: unknown): boolean {
  return (responseOf(error)?.status ?? 0) >= 500
}

/** Describes an error for the operator. The message of the SDK is often only `UnknownError`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const response = responseOf(error)
  const detail = error.message === '' || error.message === 'UnknownError' ? '' : `: ${error.message}`
  return response ? `HTTP ${response.status} ${response.name}${detail}` : `${error.name}${detail}`
}
