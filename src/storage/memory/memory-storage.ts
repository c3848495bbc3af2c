import type { ObjectStorage, StoredBytes } from '../../server/object-storage.js'
import type { ByteShelf } from '../signed-urls/byte-shelf.js'
import { checkSelfServingOptions, type SelfServingOptions } from '../signed-urls/self-serving-options.js'
import { createSelfServingStorage } from '../signed-urls/self-serving-storage.js'
import type { Secret } from '../signed-urls/url-signer.js'

export type MemoryStorageOptions = SelfServingOptions

interface Stored {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly description: StoredBytes
}

/**
 * A bucket service in memory, for tests and demos. Every bucket exists. Its signed URLs lead to the server that uses it,
 * and end with this instance, as do the bytes.
 *
 * @throws TypeError for a `baseURL` that is no absolute http(s) URL, and a `now` that is no function.
 */
export function memoryStorage(options: MemoryStorageOptions = {}): ObjectStorage {
  const checked = checkSelfServingOptions('memoryStorage', options)
  return createSelfServingStorage({ shelf: createMemoryShelf(), secret: createSecret }, checked)
}

function createMemoryShelf(): ByteShelf {
  const contents = new Map<string, Stored>()
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

/** No bucket and no key has a NUL character in it. */
function place(bucket: string, key: string): string {
  return `${bucket}\0${key}`
}

/** Made when it is first needed: some runtimes have no randomness before their first request. */
function createSecret(): Promise<Secret> {
  return crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const copies: Uint8Array<ArrayBuffer>[] = []
  // Whoever made a chunk may use its memory again.
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk))
  return new Uint8Array(await new Blob(copies).arrayBuffer())
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
