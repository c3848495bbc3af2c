import type { ByteShelf } from '../signed-urls/byte-shelf.js'
import type { PartShelf } from '../signed-urls/part-shelf.js'
import { createMemoryPartShelf } from './memory-part-shelf.js'
import { bytesOf, digestOf, place, type StoredObject } from './stored-object.js'

/** Objects, and the uploads in parts that become such. */
export function createMemoryShelves(): { shelf: ByteShelf; partShelf: PartShelf } {
  const contents = new Map<string, StoredObject>()
  return { shelf: createByteShelf(contents), partShelf: createMemoryPartShelf(contents) }
}

function createByteShelf(contents: Map<string, StoredObject>): ByteShelf {
  return {
    describe: async (bucket, key) => contents.get(place(bucket, key))?.description ?? null,

    async open(bucket, key) {
      const stored = contents.get(place(bucket, key))
      return stored ? { size: stored.bytes.byteLength, body: stored.bytes } : null
    },

    async create(bucket, key, { chunks, contentType, attemptId }) {
      const bytes = await bytesOf(chunks)
      const eTag = `"${await digestOf(bytes)}"`
      // From here on nothing is awaited, so that of two uploads to one place one is first.
      const at = place(bucket, key)
      if (contents.has(at)) return null
      contents.set(at, { bytes, description: { size: bytes.byteLength, contentType, eTag, attemptId } })
      return eTag
    },

    async remove(bucket, key) {
      contents.delete(place(bucket, key))
    },
  }
}
