import { utf8Length } from '../bytes.js'
import type { Disposition, SignDownloadInput } from '../object-storage.js'
import { servableMediaType } from './media-type.js'

export const UNKNOWN_TYPE = 'application/octet-stream'

type DownloadTerms = Pick<SignDownloadInput, 'filename' | 'contentType' | 'disposition' | 'cacheControl'>

/** Returns the response headers of a download. By default, browsers save it under its file name and never cache it. */
export function downloadHeaders({ filename, contentType, disposition, cacheControl }: DownloadTerms) {
  return {
    'cache-control': cacheControl ?? 'private, no-store',
    'content-type': servableMediaType(contentType ?? '') ?? UNKNOWN_TYPE,
    'content-disposition': namedDisposition(disposition ?? 'attachment', shortFilename(filename)),
  }
}

export function isHeaderText(text: string): boolean {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(text)
}

/** Names the file in ASCII for old browsers (RFC 6266), and in UTF-8 for others (RFC 5987), without what could end the header. */
function namedDisposition(disposition: Disposition, filename: string): string {
  const ascii = filename.replace(/[^ -~]|["%\\]/gu, '_')
  // Only underscores name nothing, and make signed URLs longer.
  const named = /[^_]/.test(ascii.replace(EXTENSION, '')) ? ` filename="${ascii}";` : ''
  return `${disposition};${named} filename*=UTF-8''${encoded(filename)}`
}

const EXTENSION = /(?<=[^.])\.[^.]+$/su

/** Characters that RFC 5987 requires to be encoded, and that `encodeURIComponent` leaves as they are. */
const NOT_ENCODED = /['()*]/g

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    NOT_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** The limit of common file systems, in bytes of UTF-8. */
const MAX_FILENAME_BYTES = 255
/** A signed URL encodes the name once more, and proxies such as nginx limit all headers of a response to 4 KiB. In characters. */
const MAX_ENCODED_LENGTH = 400
const MAX_EXTENSION_BYTES = 32

/** Shortens a file name to what file systems and signed URLs can hold, but keeps its extension. */
export function shortFilename(filename: string): string {
  if (fits(filename)) return filename
  const extension = EXTENSION.exec(filename)?.[0] ?? ''
  const ending = utf8Length(extension) <= MAX_EXTENSION_BYTES ? extension : ''
  let start = ''
  for (const character of filename) {
    if (!fits(start + character + ending)) break
    start += character
  }
  return start + ending
}

function fits(filename: string): boolean {
  return utf8Length(filename) <= MAX_FILENAME_BYTES && encoded(filename).length <= MAX_ENCODED_LENGTH
}
