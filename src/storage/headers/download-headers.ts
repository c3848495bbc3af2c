import { attachmentNamed } from './content-disposition.js'

const UNKNOWN_TYPE = 'application/octet-stream'

export interface DownloadHeaders {
  readonly 'cache-control': string
  readonly 'content-type': string
  readonly 'content-disposition': string
}

/** What every storage says of a download, whatever the record holds: it is saved, under its name, and kept by no cache. */
export function downloadHeaders({
  filename,
  contentType,
}: {
  readonly filename: string
  readonly contentType: string | null
}): DownloadHeaders {
  return {
    'cache-control': 'private, no-store',
    'content-type': contentType !== null && isHeaderText(contentType) ? contentType : UNKNOWN_TYPE,
    'content-disposition': attachmentNamed(filename),
  }
}

function isHeaderText(text: string): boolean {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(text)
}
