/** The object metadata that names the attempt which wrote it. */
export const ATTEMPT_METADATA = 'attempt-id'

const ATTEMPT_HEADER = `x-amz-meta-${ATTEMPT_METADATA}`

/** Returns the headers that an upload URL is signed for. `if-none-match: *` refuses to overwrite an object. */
export function uploadHeaders({
  contentType,
  attemptId,
}: {
  readonly contentType: string
  readonly attemptId: string
}): Readonly<Record<string, string>> {
  return { 'content-type': contentType, 'if-none-match': '*', [ATTEMPT_HEADER]: attemptId }
}
