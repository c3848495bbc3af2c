/** The digits of each byte. Looking them up takes a fraction of the time that `toString(16)` takes. */
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function hexOf(bytes: Uint8Array): string {
  let digits = ''
  for (const byte of bytes) digits += DIGITS[byte]!
  return digits
}

export function toBase64Url(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

/** Joins chunks. Without `Blob`, which simulated DOMs replace by one that can't be read. */
export function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.byteLength, 0))
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

export function utf8Length(value: string): number {
  return new TextEncoder().encode(value).byteLength
}

/** Truncates a text to at most `max` bytes of UTF-8, without splitting a character. */
export function truncateToBytes(text: string, max: number): string {
  // A UTF-16 unit is at most three bytes.
  if (text.length * 3 <= max) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max))
  return text.slice(0, read)
}
