import { checkText, invalid, shown, TEXT_LIMITS } from '../store/validation/checks.js'

// Each blank can match in one position only, which keeps matching linear. RFC 9110 allows a trailing blank after a semicolon, but
// HTTP strips it from the header value, and the signature would no longer match.
const MEDIA_TYPE =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: *;(?: *[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[ !#-[\]-~]|\\[ -~])*"))?)*$/

/** Type and subtype. Browsers take the last type of a comma-separated list, and some end a type at a parenthesis. */
const ESSENCE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?= *(?:;|$))/

/** A parameter whose value is quoted, or has nothing that can't be quoted as it is. */
const PARAMETER = /; *([\w!#$%&'*+.^`|~-]+)=("(?:[ !#-[\]-~]|\\[ -~])*" *|[ !#-:<-[\]-~]+)(?=;|$)/g

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/**
 * Returns a media type of RFC 9110, or `null` unless type and subtype are valid. Quotes a value that only lacks its quotes, as in
 * `video/webm;codecs=vp8,opus`, and drops other invalid parameters. Tabs become spaces: S3 and its clients normalize
 * tabs differently, so a signature over one would fail.
 */
export function repairedMediaType(text: string): string | null {
  const type = text.replaceAll('\t', ' ')
  const essence = ESSENCE.exec(type)?.[0]
  if (essence === undefined) return null
  if (MEDIA_TYPE.test(type)) return type
  let repaired = essence
  for (const [, name, given = ''] of type.slice(essence.length).matchAll(PARAMETER)) {
    const value = given.trim()
    if (value === '') continue
    const parameter = `;${name}=${value.startsWith('"') || TOKEN.test(value) ? value : `"${value}"`}`
    if (repaired.length + parameter.length <= TEXT_LIMITS.contentType.max) repaired += parameter
  }
  return repaired
}

/** Drops parameters with both commas and escapes: in a browser whose parser ignores escapes, a comma begins another type. */
export function servableMediaType(text: string): string | null {
  const type = repairedMediaType(text)
  return type?.includes(',') && type.includes('\\') ? (ESSENCE.exec(type)?.[0] ?? null) : type
}

/** Returns type and subtype in lower case, without parameters. Types are compared in this form. */
export function essenceOf(mediaType: string): string {
  return mediaType.split(';', 1)[0]!.trimEnd().toLowerCase()
}

/** Returns a media type with its parameters repaired, at most 255 characters. @throws StorageError `VALIDATION_ERROR` */
export function checkMediaType(value: unknown, field = 'contentType'): string {
  const type = repairedMediaType(checkText('contentType', value, field))
  if (type === null) {
    throw invalid(
      field,
      `must be a media type such as "image/png" or "text/plain; charset=utf-8" (got ${shown(value)}).`,
    )
  }
  return type
}
