/** The digits of each byte. Looking them up takes a fraction of the time that `toString(16)` takes. */
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Returns bytes as lower-case hexadecimal digits, two for each. */
export function hexOf(bytes: Uint8Array): string {
  let digits = ''
  for (const byte of bytes) digits += DIGITS[byte]!
  return digits
}
