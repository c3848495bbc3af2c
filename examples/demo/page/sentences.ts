import { S3ClientError } from '@svc/db/client'
import { files, inUnits } from './units.js'

/** What went wrong, said to the person in front of the page. */
export function sentenceFor(error: unknown, file: { name: string; size?: number | undefined }): string {
  const code = error instanceof S3ClientError ? error.code : 'INTERNAL_ERROR'
  switch (code) {
    case 'QUOTA_EXCEEDED':
      return quotaSentence(error as S3ClientError, file)
    case 'FILE_TOO_LARGE':
      return `“${file.name}” is too large${file.size === undefined ? '' : ` (${inUnits(file.size)})`}.`
    case 'CONTENT_TYPE_NOT_ALLOWED':
      return `Files like “${file.name}” aren’t accepted here.`
    case 'VALIDATION_ERROR':
      return `“${file.name}” can’t be stored under this name.`
    case 'OBJECT_NOT_FOUND':
      return `“${file.name}” is no longer there.`
    case 'UNAUTHORIZED':
      return 'Your session has ended. Reload the page to go on.'
    case 'NETWORK_ERROR':
      return 'The connection was lost. Check it and try again.'
    default:
      return 'Something went wrong on the server. Try again in a moment.'
  }
}

/** Whether the same call may go well the next time. */
export function mayGoWellAgain(error: unknown): boolean {
  if (!(error instanceof S3ClientError)) return false
  if (error.code === 'QUOTA_EXCEEDED') return !isBeyondWholeQuota(error)
  return error.status === undefined || error.status >= 500
}

function isBeyondWholeQuota({ params }: S3ClientError): boolean {
  return Number(params?.['requested']) > Number(params?.['max'])
}

function quotaSentence(error: S3ClientError, file: { name: string }): string {
  const { limit, max, used, requested } = error.params ?? {}
  if (typeof max !== 'number' || typeof used !== 'number' || typeof requested !== 'number') {
    return `There is no room for “${file.name}”.`
  }
  if (limit === 'maxFiles') {
    return `You have reached your ${files(max)}. Delete one to make room for “${file.name}”.`
  }
  if (isBeyondWholeQuota(error)) {
    return `“${file.name}” is ${inUnits(requested)}, more than all the space you have (${inUnits(max)}).`
  }
  const free = Math.max(0, max - used)
  const room =
    free === 0 ? `your ${inUnits(max)} are full` : `only ${inUnits(free)} of your ${inUnits(max)} are free`
  return `“${file.name}” needs ${inUnits(requested)}, but ${room}. Delete something to make room.`
}
