/** Bytes per chunk. */
const CHUNK_BYTES = 64 * 1024

/** Returns a stream of copies, so that a reader can't change what is stored. A stream is returned as it is. */
export function streamOf(
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array> {
  if (!(body instanceof Uint8Array)) return body
  let position = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = body.slice(position, position + CHUNK_BYTES)
        position += chunk.byteLength
        if (chunk.byteLength > 0) controller.enqueue(chunk)
        if (position >= body.byteLength) controller.close()
      },
    },
    // Copies nothing ahead.
    { highWaterMark: 0 },
  )
}
