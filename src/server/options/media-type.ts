import { invalid, shown } from '../../core/store/validation/invalid.js'
import { checkText } from '../../core/store/validation/text.js'

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const QUOTED = '"(?:[\\t !#-\\[\\]-~]|\\\\[\\t -~])*"'

// Each blank has one place in it where it can match, so that no text makes the matching slow. A blank at the end is
// refused, though RFC 9110 has it after a semicolon: no header value keeps it on its way to the bucket.
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[\\t ]*;(?:[\\t ]*${TOKEN}=(?:${TOKEN}|${QUOTED}))?)*$`)

/**
 * A media type as it is recorded and signed: with spaces for tabs, which mean the same (RFC 9110), but which signatures of
 * S3 don't survive, because each side puts them in another form.
 * @throws StorageError `VALIDATION_ERROR` unless it is a media type of RFC 9110, in ASCII, of at most 255 characters.
 */
export function checkMediaType(value: unknown): string {
  const text = checkText('contentType', value)
  if (!MEDIA_TYPE.test(text)) {
    throw invalid(
      'contentType',
      `must be a media type such as "image/png" or "text/plain; charset=utf-8", not ${shown(value)}.`,
    )
  }
  return text.replaceAll('\t', ' ')
}

/** Type and subtype alone, in lower case: the part by which types are compared. */
export function essenceOf(mediaType: string): string {
  return mediaType.replace(/[\t ]*;.*$/s, '').toLowerCase()
}
