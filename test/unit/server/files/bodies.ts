import { DEFAULT_PART_SIZE } from '../../../../src/server/attempts/sizes.js'
/** Bodies of `files.put` that misbehave, and that record whether they were told to stop. */

/** The part size of files of up to 78 GiB. */
export const PART = DEFAULT_PART_SIZE

/** Returns `size` bytes in which no two parts are equal: they repeat after a prime number of bytes. */
export function pattern(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  const period = Math.min(size, 65_537)
  for (let index = 0; index < period; index++) bytes[index] = index * 31 + (index >> 13)
  for (let filled = period; filled < size; filled *= 2) bytes.copyWithin(filled, 0, filled)
  return bytes
}

export interface WatchedBody {
  readonly body: AsyncIterable<Uint8Array>
  readonly isStopped: () => boolean
}

/** An iterable of these chunks. Then it ends, fails with an error, or waits for a promise. */
export function iterableOf(
  chunks: Iterable<Uint8Array>,
  end: { readonly error?: Error; readonly wait?: Promise<unknown> } = {},
): WatchedBody {
  let stopped = false
  const rest = chunks[Symbol.iterator]()
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const next = rest.next()
      if (!next.done) return next
      if (end.error !== undefined) throw end.error
      await end.wait
      return { done: true, value: undefined }
    },
    async return() {
      stopped = true
      return { done: true, value: undefined }
    },
  }
  return { body: { [Symbol.asyncIterator]: () => iterator }, isStopped: () => stopped }
}

/** The same as a web stream. */
export function streamOf(chunks: Iterable<Uint8Array>, end: Parameters<typeof iterableOf>[1] = {}) {
  const { body } = iterableOf(chunks, end)
  const source = body[Symbol.asyncIterator]()
  let stopped = false
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await source.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      cancel() {
        stopped = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body: stream, isStopped: () => stopped }
}

export function* chunksOf(bytes: Uint8Array, size: number): Generator<Uint8Array, void> {
  for (let start = 0; start < bytes.byteLength; start += size) yield bytes.subarray(start, start + size)
}

export async function readAll(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return new Uint8Array(Buffer.concat(chunks))
}
