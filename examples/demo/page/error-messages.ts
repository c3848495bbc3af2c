import { S3ClientError } from '@svc/db/client'
import { files, inUnits } from './units.js'

/** Returns the message that the page shows for an error. */
export function messageFor(error: unknown, file: { name: string; size?: number | undefined }): string {
  const code = error instanceof S3ClientError ? error.code : 'INTERNAL_ERROR'
  switch (code) {
    case 'QUOTA_EXCEEDED':
      return quotaMessage(error as S3ClientError, file)
    case 'FILE_TOO_LARGE':
      return `“${file.name}” is too large${file.size === undefined ? '' : ` (${inUnits(file.size)})`}.`
    case 'CONTENT_TYPE_NOT_ALLOWED':
      return `“${file.name}” has a type that isn’t allowed.`
    case 'VALIDATION_ERROR':
      return `“${file.name}” can’t be uploaded under this name.`
    case 'OBJECT_NOT_FOUND':
      return `“${file.name}” no longer exists.`
    case 'UNAUTHORIZED':
      return 'Your session has expired. Reload the page to continue.'
    case 'NETWORK_ERROR':
      return 'The connection was lost. Check your network and try again.'
    default:
      return 'Something went wrong on the server. Try again in a moment.'
  }
}

/** Returns whether retrying the same call may succeed. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof S3ClientError)) return false
  if (error.code === 'QUOTA_EXCEEDED') return !exceedsWholeQuota(error)
  return error.status === undefined || error.status >= 500
}

function exceedsWholeQuota({ params }: S3ClientError): boolean {
  return Number(params?.['requested']) > Number(params?.['max'])
}

function quotaMessage(error: S3ClientError, file: { name: string }): string {
  const { limit, max, used, requested } = error.params ?? {}
  if (typeof max !== 'number' || typeof used !== 'number' || typeof requested !== 'number') {
    return `There isn’t enough space for “${file.name}”.`
  }
  if (limit === 'maxFiles') {
    return `You have reached your limit of ${files(max)}. Delete one to make room for “${file.name}”.`
  }
  if (exceedsWholeQuota(error)) {
    return `“${file.name}” is ${inUnits(requested)}, which is more than your quota of ${inUnits(max)}.`
  }
  const free = Math.max(0, max - used)
  const space =
    free === 0 ? `your ${inUnits(max)} is used up` : `only ${inUnits(free)} of your ${inUnits(max)} is free`
  return `“${file.name}” needs ${inUnits(requested)}, but ${space}. Delete files to make room.`
}
