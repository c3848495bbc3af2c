import { quietly } from './kept-attempts.js'
import { readBytes } from './transport.js'

/** Bytes read and hashed at a time, which takes a few milliseconds. A multiple of 4. */
const CHUNK = 8 * 1024 ** 2

type State = readonly [number, number, number]

/**
 * Reads a part once, so that `file` has exactly the bytes of `digest`. Where a runtime can't make a Blob of bytes, as React Native,
 * `file` is the part itself, and there is no digest.
 *
 * @throws S3ClientError `FILE_UNREADABLE`
 */
export async function readPart(part: Blob): Promise<{ readonly file: Blob; readonly digest?: string }> {
  const chunks: ArrayBuffer[] = []
  let state: State = [0, 0, 0]
  // An empty file is read too, because it can be a folder.
  for (let at = 0; !at || at < part.size; at += CHUNK) {
    const slice = part.slice(at, at + CHUNK)
    const bytes = (await readBytes(slice)) as ArrayBuffer
    if (bytes.byteLength !== slice.size) return { file: part }
    chunks.push(bytes)
    const words = new Int32Array((slice.size + 3) >> 2)
    new Uint8Array(words.buffer).set(new Uint8Array(bytes))
    state = absorbed(words, state)
  }
  const digest = state.map((word) => word.toString(36)).join()
  return quietly(() => ({ file: new Blob(chunks), digest })) || { file: part }
}

/**
 * Feeds words into a shift register of 96 bits, as a CRC does: the steps are those of xorshift96 with the shifts 10, 5 and 26, whose
 * period is 2^96 - 1. Two files of the same size that differ in one word, or in the order of two words, never end in the same state,
 * and any others with a probability of 2^-96. It detects accidents, not attacks, and is faster than reading a disk.
 */
function absorbed(words: Int32Array, [a, b, c]: State): State {
  // With `for of`, this takes six times as long.
  for (let at = 0; at < words.length; at++) {
    const fed = a ^ words[at]!
    const shifted = fed ^ (fed << 10)
    a = b
    b = c
    c ^= (c >>> 26) ^ shifted ^ (shifted >>> 5)
  }
  return [a, b, c]
}
