import { S3ClientError } from '../client-error.js'
import type { UploadRules } from '../create-client.js'

/** What a queue knows of a file before it is sent. */
interface ChosenFile {
  readonly route?: string | null | undefined
  readonly contentType: string
  /** Bytes. */
  readonly size: number
}

/**
 * Returns the error with which the server would refuse a file, or `undefined` if it breaks no rule. Also `undefined` for an unknown
 * route, because that is for the server to say.
 */
export function refusalBy(
  routes: Readonly<Record<string, UploadRules>>,
  { route, contentType, size }: ChosenFile,
): S3ClientError | undefined {
  const names = Object.keys(routes)
  const rules = route == null ? names.length === 1 && routes[names[0]!] : routes[route]
  if (!rules) return undefined
  const { maxFileSize: max, contentTypes } = rules
  if (max !== null && size > max) {
    return new S3ClientError('FILE_TOO_LARGE', `size must be at most ${max} bytes (got ${size}).`, {
      params: { max, size },
    })
  }
  const [essence = ''] = contentType.toLowerCase().split(/[ ;]/)
  const wildcard = essence.replace(/\/.*/, '/*')
  if (!contentTypes || contentTypes.includes(essence) || contentTypes.includes(wildcard)) return undefined
  const allowed = contentTypes.join(', ')
  return new S3ClientError(
    'CONTENT_TYPE_NOT_ALLOWED',
    `contentType must be one of ${allowed} (got ${contentType}).`,
    { params: { contentType, allowed } },
  )
}
