import { keyId } from '../../core/names.js'
import type { StoredBytes } from '../../core/object-storage.js'
import type { ByteStore } from '../local/contract.js'

export interface MemoryObject {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly description: StoredBytes
  /** Milliseconds since 1970. */
  readonly writtenAt: number
}

/** Stores objects in a map, by {@link keyId}. */
export function createMemoryByteStore(objects: Map<string, MemoryObject>, now: () => Date): ByteStore {
  return {
    describe: async (bucket, key) => objects.get(keyId({ bucket, key }))?.description ?? null,

    async open(bucket, key, range) {
      const stored = objects.get(keyId({ bucket, key }))
      if (!stored) return null
      const body = range ? stored.bytes.subarray(range.start, range.end + 1) : stored.bytes
      return { size: body.byteLength, body }
    },

    async create(bucket, key, { chunks, beforePublishing, contentType, attemptId }) {
      const bytes = await readAll(chunks)
      const eTag = `"${await sha256Hex(bytes)}"`
      // No await below: of two concurrent uploads to a key, exactly one must succeed.
      const at = keyId({ bucket, key })
      if (objects.has(at)) return null
      beforePublishing?.()
      const description = { size: bytes.byteLength, contentType, eTag, attemptId }
      objects.set(at, { bytes, description, writtenAt: now().getTime() })
      return eTag
    },

    async remove(bucket, key) {
      objects.delete(keyId({ bucket, key }))
    },

    async *objects(bucket) {
      const start = keyId({ bucket, key: '' })
      for (const [at, { description, writtenAt }] of objects) {
        const { size, eTag } = description
        if (at.startsWith(start)) {
          yield { key: at.slice(start.length), size, eTag, lastModified: new Date(writtenAt) }
        }
      }
    },
  }
}

export async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const copies: Uint8Array<ArrayBuffer>[] = []
  // Copied, because the producer may reuse the memory of a chunk.
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk))
  return concatenate(copies)
}

/** Without `Blob`, which simulated DOMs replace by one that can't be read. */
export function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.byteLength, 0))
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
