/** In bytes of UTF-8: what common file systems take. */
const LONGEST_FILENAME = 255
const LONGEST_EXTENSION = 32

/**
 * A name as it may stand in a URL, of which bucket services take no more than some kilobytes: a longer one loses what is
 * before its extension.
 */
export function shortFilename(filename: string): string {
  if (byteLength(filename) <= LONGEST_FILENAME) return filename
  const extension = /[^.](\.[^.]+)$/su.exec(filename)?.[1] ?? ''
  const ending = byteLength(extension) <= LONGEST_EXTENSION ? extension : ''
  return startOf(filename, LONGEST_FILENAME - byteLength(ending)) + ending
}

/** As many whole characters as there is room for. */
function startOf(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes))
  return text.slice(0, read)
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength
}
