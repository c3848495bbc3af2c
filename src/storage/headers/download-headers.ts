const UNKNOWN_TYPE = 'application/octet-stream'

export interface DownloadHeaders {
  readonly 'cache-control': string
  readonly 'content-type': string
  readonly 'content-disposition': string
}

export interface DownloadTerms {
  readonly filename: string
  readonly contentType: string | null
  readonly disposition?: 'inline' | 'attachment' | null | undefined
  readonly cacheControl?: string | null | undefined
}

/** Returns the response headers of a download. By default, browsers save it under its file name and never cache it. */
export function downloadHeaders({
  filename,
  contentType,
  disposition,
  cacheControl,
}: DownloadTerms): DownloadHeaders {
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
function namedDisposition(disposition: 'inline' | 'attachment', filename: string): string {
  const ascii = filename.replace(/[^ -~]|["%\\]/gu, '_')
  const encoded = encodeURIComponent(filename).replace(
    NOT_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${disposition}; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
