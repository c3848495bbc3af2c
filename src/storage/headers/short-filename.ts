/** The limit of common file systems, in bytes of UTF-8. */
const MAX_FILENAME_BYTES = 255
const MAX_EXTENSION_BYTES = 32

/** Shortens a file name, but keeps its extension. Servers limit URLs, which include the name, to a few kilobytes. */
export function shortFilename(filename: string): string {
  if (byteLength(filename) <= MAX_FILENAME_BYTES) return filename
  const extension = /[^.](\.[^.]+)$/su.exec(filename)?.[1] ?? ''
  const ending = byteLength(extension) <= MAX_EXTENSION_BYTES ? extension : ''
  return truncateToBytes(filename, MAX_FILENAME_BYTES - byteLength(ending)) + ending
}

/** Truncates a text to a number of bytes, without splitting a character. */
function truncateToBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes))
  return text.slice(0, read)
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength
}
