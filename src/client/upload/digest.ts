import { readBytes } from './transport.js'

/**
 * Reads a part once. Returns its bytes and their digest, or the part itself without one where a runtime can't read files, as React
 * Native.
 *
 * @throws S3ClientError `FILE_UNREADABLE`
 */
export async function readPart(part: Blob): Promise<readonly [bytes: BlobPart, digest?: string]> {
  const bytes = (await readBytes(part)) as ArrayBuffer
  if (bytes.byteLength !== part.size) return [part]
  const words = new Int32Array((part.size + 3) >> 2)
  new Uint8Array(words.buffer).set(new Uint8Array(bytes))
  return [bytes, digestOf(words)]
}

/**
 * Feeds words into a shift register of 96 bits, as a CRC does: the steps are those of xorshift96 with the shifts 10, 5 and 26, whose
 * period is 2^96 - 1. Two files of the same size that differ in one word, or in the order of two words, never end in the same state,
 * and any others with a probability of 2^-96. It detects accidents, not attacks, and is faster than reading a disk.
 */
function digestOf(words: Int32Array): string {
  let [a, b, c] = [0, 0, 0]
  // With `for of`, this takes six times as long.
  for (let at = 0; at < words.length; at++) {
    a ^= words[at]!
    a ^= a << 10
    a ^= a >>> 5
    ;[a, b, c] = [b, c, c ^ (c >>> 26) ^ a]
  }
  return [a, b, c].map((word) => word.toString(36)).join()
}
