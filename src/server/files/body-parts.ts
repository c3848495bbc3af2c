import { mismatch } from '../attempts/confirm-upload.js'
import type { ByteSource } from './byte-source.js'
import type { WaitFor } from './linked-abort.js'

/**
 * Yields the parts of a body, each of `partSize` bytes except the last. The last part comes once the body has ended, so a body of
 * another size never yields it. A body of 0 bytes has one empty part.
 *
 * The parts share two buffers: a part is overwritten while the part after the next one is being read.
 *
 * @throws StorageError `UPLOAD_MISMATCH` unless the body has exactly `size` bytes.
 */
export async function* bodyParts(
  source: ByteSource,
  size: number,
  partSize: number,
  waitFor: WaitFor,
): AsyncGenerator<Uint8Array, void> {
  let [buffer, spare] = [new Uint8Array(Math.min(size, partSize)), new Uint8Array(0)]
  let loaded = 0
  let filled = 0
  for (let chunk = await waitFor(source.next()); chunk; chunk = await waitFor(source.next())) {
    loaded += chunk.byteLength
    if (loaded > size) throw mismatch(`The body is longer than its size of ${size} bytes.`)
    while (chunk.byteLength > 0) {
      if (filled === partSize) {
        yield buffer
        ;[buffer, spare] = [spare.byteLength > 0 ? spare : new Uint8Array(partSize), buffer]
        filled = 0
      }
      const piece: Uint8Array = chunk.subarray(0, partSize - filled)
      buffer.set(piece, filled)
      filled += piece.byteLength
      chunk = chunk.subarray(piece.byteLength)
    }
  }
  if (loaded < size) throw mismatch(`The body has ended after ${loaded} of ${size} bytes.`)
  yield buffer.subarray(0, filled)
}
