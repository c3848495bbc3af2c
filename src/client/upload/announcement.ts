import type { UploadOptions } from './upload-options.js'

/** What the server is told of a file before any byte is sent. */
export interface Announcement {
  readonly route?: string | null | undefined
  readonly filename: string
  /** A media type of RFC 9110, in ASCII. */
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
}

const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[ !#-[\\]-~\\t]|\\\\[ -~\\t])*"))*$`,
)

const MAX_CONTENT_TYPE_LENGTH = 255
const MAX_FILENAME_LENGTH = 1024

export function announce(file: Blob, { route, filename, metadata }: UploadOptions): Announcement {
  return {
    route,
    filename: filename ?? ownName(file),
    contentType: ownContentType(file),
    size: file.size,
    metadata,
  }
}

/** A file's own name is nobody's choice, so what the server would refuse is mended; a name the caller gives is sent as it is. */
function ownName(file: Blob): string {
  // Not `instanceof`: a file may come from another frame.
  const { name = '' } = file as Partial<File>
  // With the `u` flag this finds only surrogates that are not part of a pair.
  const sendable = name.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
  return [...sendable].slice(0, MAX_FILENAME_LENGTH).join('') || 'file'
}

/** Browsers take a type from the system's registry, where anything may be written. */
function ownContentType({ type }: Blob): string {
  return type.length <= MAX_CONTENT_TYPE_LENGTH && MEDIA_TYPE.test(type) ? type : 'application/octet-stream'
}
