import { S3ClientError } from '@svc/db/client'
import { quoted } from './names.js'
import { RequestError } from './requests.js'
import { files, inUnits } from './units.js'

/** Returns the message that the page shows for an error of a file. */
export function messageFor(error: unknown, file: { name: string; size?: number | undefined }): string {
  switch (codeOf(error)) {
    case 'QUOTA_EXCEEDED':
      return quotaMessage(error as S3ClientError, file)
    case 'FILE_TOO_LARGE':
      return `${quoted(file.name)} is too large${file.size === undefined ? '' : ` (${inUnits(file.size)})`}.`
    case 'CONTENT_TYPE_NOT_ALLOWED':
      return `${quoted(file.name)} has a type that isn’t allowed.`
    case 'VALIDATION_ERROR':
      return `${quoted(file.name)} can’t be stored under this name.`
    case 'OBJECT_NOT_FOUND':
      return `${quoted(file.name)} no longer exists.`
    case 'UPLOAD_REJECTED':
      return `${quoted(file.name)} was refused. ${String((error as S3ClientError).params?.['reason'] ?? '')}`
    case 'FILE_UNREADABLE':
      return `${quoted(file.name)} can’t be read. It is a folder, or was changed or removed. Choose it again.`
    default:
      return generalMessageFor(error)
  }
}

/** Returns the message for an error of a call that concerns no single file. */
export function generalMessageFor(error: unknown): string {
  switch (codeOf(error)) {
    case 'UNAUTHORIZED':
      return 'Your session has expired. Reload the page to continue.'
    case 'FORBIDDEN':
      return 'Another window has switched to another person.'
    case 'NETWORK_ERROR':
      return 'The connection was lost. Check your network and try again.'
    case 'CODE_UNAVAILABLE':
      return 'A part of this page couldn’t be loaded. Try again, or reload the page.'
    default:
      return 'Something went wrong on the server. Try again in a moment.'
  }
}

/** Returns whether retrying the same call may succeed. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof S3ClientError)) return false
  if (error.code === 'FILE_UNREADABLE') return false
  if (error.code === 'QUOTA_EXCEEDED') return !exceedsWholeQuota(error)
  return error.code === 'FORBIDDEN' || error.status === undefined || error.status >= 500
}

export const isGone = (error: unknown): boolean => codeOf(error) === 'OBJECT_NOT_FOUND'

/** Returns whether another window has switched users. */
export const isOtherUser = (error: unknown): boolean => codeOf(error) === 'FORBIDDEN'

export const isNetworkError = (error: unknown): boolean => codeOf(error) === 'NETWORK_ERROR'

/** The code of an error of the client. Refusals by the demo's own endpoints get the codes with the same meaning. */
function codeOf(error: unknown): string {
  if (error instanceof S3ClientError) return error.code
  if (!(error instanceof RequestError)) return 'INTERNAL_ERROR'
  switch (error.status) {
    case null:
      return 'NETWORK_ERROR'
    case 400:
      return 'VALIDATION_ERROR'
    case 401:
      return 'UNAUTHORIZED'
    case 403:
      return 'FORBIDDEN'
    case 404:
      return 'OBJECT_NOT_FOUND'
    default:
      return 'INTERNAL_ERROR'
  }
}

function exceedsWholeQuota({ params }: S3ClientError): boolean {
  return Number(params?.['requested']) > Number(params?.['max'])
}

function quotaMessage(error: S3ClientError, file: { name: string }): string {
  const { limit, max, used, requested } = error.params ?? {}
  if (typeof max !== 'number' || typeof used !== 'number' || typeof requested !== 'number') {
    return `There isn’t enough space for ${quoted(file.name)}.`
  }
  if (limit === 'maxFiles') {
    return `You have reached your limit of ${files(max)}. Delete one to make room for ${quoted(file.name)}.`
  }
  if (exceedsWholeQuota(error)) {
    return `${quoted(file.name)} is ${inUnits(requested)}, which is more than your quota of ${inUnits(max)}.`
  }
  const free = Math.max(0, max - used)
  const space =
    free === 0 ? `your ${inUnits(max)} is used up` : `only ${inUnits(free)} of your ${inUnits(max)} is free`
  return `${quoted(file.name)} needs ${inUnits(requested)}, but ${space}. Delete files to make room.`
}
