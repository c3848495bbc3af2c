import { UNKNOWN_TYPE } from '../core/http/download-headers.js'
import { essenceOf } from '../core/http/media-type.js'
import type { SignUploadInput } from '../core/object-storage.js'

/** The object metadata that names the attempt which wrote it. */
export const ATTEMPT_METADATA = 'attempt-id'

/** Returns the headers that an upload URL is signed for. `if-none-match: *` refuses to overwrite an object. */
export function uploadHeaders(
  { contentType, attemptId }: Pick<SignUploadInput, 'contentType' | 'attemptId'>,
  createOnly = true,
): Readonly<Record<string, string>> {
  return {
    'content-type': contentType,
    ...(createOnly && { 'if-none-match': '*' }),
    [`x-amz-meta-${ATTEMPT_METADATA}`]: attemptId,
  }
}

const JAVASCRIPT =
  /^(?:application\/(?:x-)?(?:java|ecma)script|text\/(?:(?:x-)?(?:java|ecma)script|javascript1\.[0-5]|jscript|livescript))$/

const XML = /^(?:(?:text|application)\/xml|text\/xsl|.+\+xml)$/

/**
 * Returns the type under which a file is sent from the origin of the application. Types that browsers execute and style sheets
 * become `application/octet-stream`, so that an uploaded file can't be the source of either, even where a policy permits those
 * of the same origin. SVG keeps its type, because images need it. The sandbox in its headers keeps it from running scripts.
 */
export function servedType(contentType: string | null): string {
  return contentType === null || changesPages(essenceOf(contentType)) ? UNKNOWN_TYPE : contentType
}

function changesPages(essence: string): boolean {
  if (essence === 'image/svg+xml') return false
  return essence === 'text/html' || essence === 'text/css' || JAVASCRIPT.test(essence) || XML.test(essence)
}
