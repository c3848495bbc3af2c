import { checkText, invalid, shown } from '../../core/store/validation/checks.js'

// Type, subtype and parameters, whose values are tokens or quoted. Each blank can match in one position only, which keeps
// matching linear. A trailing blank is refused, although RFC 9110 allows one after a semicolon: HTTP strips it from the
// header value, and the signature would no longer match.
const MEDIA_TYPE =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?:[\t ]*;(?:[\t ]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)*$/

/**
 * Validates a media type (RFC 9110, ASCII, at most 255 characters) and replaces tabs with spaces. They mean the same, but S3
 * and its clients normalize tabs differently, so a signature over a tab fails.
 * @throws StorageError `VALIDATION_ERROR`
 */
export function checkMediaType(value: unknown): string {
  const text = checkText('contentType', value)
  if (!MEDIA_TYPE.test(text)) {
    throw invalid(
      'contentType',
      `must be a media type such as "image/png" or "text/plain; charset=utf-8" (got ${shown(value)}).`,
    )
  }
  return text.replaceAll('\t', ' ')
}

/** Returns type and subtype in lower case, without parameters. Types are compared in this form. */
export function essenceOf(mediaType: string): string {
  return mediaType.split(';', 1)[0]!.trimEnd().toLowerCase()
}
