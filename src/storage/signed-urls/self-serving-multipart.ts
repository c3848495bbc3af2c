import type { MultipartStorage } from '../../core/object-storage.js'
import type { PartShelf } from './part-shelf.js'
import type { Grant } from './url-signer.js'

/** Parts in a page, as S3 has them. */
const PAGE = 1000

/** Uploads in parts of a storage whose signed URLs lead to the server that uses it. */
export function createSelfServingMultipart(
  shelf: PartShelf,
  urlOf: (grant: Grant, serverURL: string) => Promise<string>,
): MultipartStorage {
  return {
    async create({ bucket, key, contentType, attemptId, signal }) {
      signal?.throwIfAborted()
      return { uploadId: await shelf.begin(bucket, key, { contentType, attemptId }) }
    },

    async signPart({ bucket, key, uploadId, partNumber, size, expiresAt, serverURL, signal }) {
      signal?.throwIfAborted()
      const expires = expiresAt.getTime()
      const grant: Grant = { method: 'PUT', bucket, key, expiresAt: expires, size, uploadId, partNumber }
      return { url: await urlOf(grant, serverURL) }
    },

    async listParts({ bucket, key, uploadId, after, signal }) {
      signal?.throwIfAborted()
      const stored = await shelf.list({ bucket, key, uploadId })
      if (stored === null) return null
      const rest = stored.filter(({ partNumber }) => partNumber > after)
      const parts = rest.slice(0, PAGE)
      return { parts, next: rest.length > PAGE ? (parts.at(-1)?.partNumber ?? null) : null }
    },

    async complete({ bucket, key, uploadId, parts, signal }) {
      signal?.throwIfAborted()
      return shelf.complete({ bucket, key, uploadId }, parts)
    },

    async abort({ bucket, key, uploadId, signal }) {
      signal?.throwIfAborted()
      return shelf.abort({ bucket, key, uploadId })
    },

    async list({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return shelf.uploads(bucket, key)
    },
  }
}
