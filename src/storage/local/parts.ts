import type { MultipartStorage } from '../../core/object-storage.js'
import type { BytesWriter } from './writes.js'
import type { PartStore } from './part-store.js'
import type { Grant } from './signed-urls.js'

/** Parts per page, as in S3. */
const PAGE_SIZE = 1000

/** Creates the multipart half of a storage whose signed URLs point to the server that uses it. */
export function createSelfServingMultipart(
  store: PartStore,
  writer: BytesWriter,
  urlOf: (grant: Grant, serverURL: string) => Promise<string>,
): MultipartStorage {
  return {
    async create({ bucket, key, contentType, attemptId, signal }) {
      signal?.throwIfAborted()
      return { uploadId: await store.begin(bucket, key, { contentType, attemptId }) }
    },

    async signPart(input) {
      const { bucket, key, uploadId, partNumber, size, expiresAt, serverURL, signal } = input
      signal?.throwIfAborted()
      const grant: Grant = {
        method: 'PUT',
        bucket,
        key,
        expiresAt: expiresAt.getTime(),
        size,
        uploadId,
        partNumber,
        writableUntil: input.writableUntil?.getTime(),
      }
      return { url: await urlOf(grant, serverURL) }
    },

    async writePart({ bucket, key, uploadId, partNumber, body, writableUntil, signal }) {
      signal?.throwIfAborted()
      const size = body.byteLength
      const terms = { bucket, key, uploadId, partNumber, size, writableUntil: writableUntil?.getTime() }
      return (await writer.writePart(terms, { kind: 'parsed', value: body })) !== null
    },

    async listParts({ bucket, key, uploadId, after, signal }) {
      signal?.throwIfAborted()
      const stored = await store.list({ bucket, key, uploadId })
      if (stored === null) return null
      const rest = stored.filter(({ partNumber }) => partNumber > after)
      const parts = rest.slice(0, PAGE_SIZE)
      return { parts, next: rest.length > PAGE_SIZE ? (parts.at(-1)?.partNumber ?? null) : null }
    },

    async complete({ bucket, key, uploadId, parts, signal }) {
      signal?.throwIfAborted()
      return store.complete({ bucket, key, uploadId }, parts)
    },

    async abort({ bucket, key, uploadId, signal }) {
      signal?.throwIfAborted()
      return store.abort({ bucket, key, uploadId })
    },

    async list({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return store.uploads(bucket, key)
    },
  }
}
