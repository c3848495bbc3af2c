import { truncateToBytes, utf8Length } from '../core/bytes.js'
import type { Disposition, SignDownloadInput, SignUploadInput } from '../core/object-storage.js'

const UNKNOWN_TYPE = 'application/octet-stream'

/** The object metadata that names the attempt which wrote it. */
export const ATTEMPT_METADATA = 'attempt-id'

/** Returns the headers that an upload URL is signed for. `if-none-match: *` refuses to overwrite an object. */
export function uploadHeaders({
  contentType,
  attemptId,
}: Pick<SignUploadInput, 'contentType' | 'attemptId'>): Readonly<Record<string, string>> {
  return {
    'content-type': contentType,
    'if-none-match': '*',
    [`x-amz-meta-${ATTEMPT_METADATA}`]: attemptId,
  }
}

type DownloadTerms = Pick<SignDownloadInput, 'filename' | 'contentType' | 'disposition' | 'cacheControl'>

/** Returns the response headers of a download. By default, browsers save it under its file name and never cache it. */
export function downloadHeaders({ filename, contentType, disposition, cacheControl }: DownloadTerms) {
  return {
    'cache-control': cacheControl ?? 'private, no-store',
    'content-type': contentType !== null && isHeaderText(contentType) ? contentType : UNKNOWN_TYPE,
    'content-disposition': namedDisposition(disposition ?? 'attachment', filename),
  }
}

function isHeaderText(text: string): boolean {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(text)
}

/** Characters that RFC 5987 requires to be encoded, and that `encodeURIComponent` leaves as they are. */
const NOT_ENCODED = /['()*]/g

/**
 * Returns a Content-Disposition with the file name in ASCII for old browsers (RFC 6266), and in UTF-8 for all others (RFC
 * 5987). Both forms escape what could end the header or start another one.
 */
function namedDisposition(disposition: Disposition, filename: string): string {
  const ascii = filename.replace(/[^ -~]|["%\\]/gu, '_')
  const encoded = encodeURIComponent(filename).replace(
    NOT_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${disposition}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

/** The limit of common file systems, in bytes of UTF-8. */
const MAX_FILENAME_BYTES = 255
const MAX_EXTENSION_BYTES = 32

/** Shortens a file name, but keeps its extension. Servers limit URLs, which include the name, to a few kilobytes. */
export function shortFilename(filename: string): string {
  if (utf8Length(filename) <= MAX_FILENAME_BYTES) return filename
  const extension = /[^.](\.[^.]+)$/su.exec(filename)?.[1] ?? ''
  const ending = utf8Length(extension) <= MAX_EXTENSION_BYTES ? extension : ''
  return truncateToBytes(filename, MAX_FILENAME_BYTES - utf8Length(ending)) + ending
}

/**
 * A single media type, whose parameters can't hide another one. Browsers take the last type of a comma-separated list, and
 * some end the type at a parenthesis.
 */
const SINGLE_TYPE = /^([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+) *(?:;[^,]*)?$/

const JAVASCRIPT =
  /^(?:application\/(?:x-)?(?:java|ecma)script|text\/(?:(?:x-)?(?:java|ecma)script|javascript1\.[0-5]|jscript|livescript))$/

const XML = /^(?:(?:text|application)\/xml|text\/xsl|.+\+xml)$/

/**
 * Returns the type under which a file is sent from the origin of the application. Types that browsers execute and style sheets
 * become `application/octet-stream`, so that an uploaded file can't be the source of either, even where a policy permits those
 * of the same origin. SVG keeps its type, because images need it. The sandbox in its headers keeps it from running scripts.
 */
export function servedType(contentType: string | null): string | null {
  if (contentType === null) return null
  const essence = SINGLE_TYPE.exec(contentType)?.[1]?.toLowerCase()
  return essence === undefined || changesPages(essence) ? UNKNOWN_TYPE : contentType
}

function changesPages(essence: string): boolean {
  if (essence === 'image/svg+xml') return false
  return essence === 'text/html' || essence === 'text/css' || JAVASCRIPT.test(essence) || XML.test(essence)
}
