import type { ObjectStorage } from '../../core/object-storage.js'
import { ATTEMPT_HEADER } from '../headers/attempt-header.js'
import type { ByteShelf } from './byte-shelf.js'
import { keptOnceMade } from './kept-once-made.js'
import type { PartShelf } from './part-shelf.js'
import { createSelfServingMultipart } from './self-serving-multipart.js'
import type { CheckedOptions } from './self-serving-options.js'
import { createSignedUrlService } from './signed-url-service.js'
import { createUrlSigner, type Grant, type Secret } from './url-signer.js'

export interface SelfServingStorageParts {
  readonly shelf: ByteShelf
  readonly partShelf: PartShelf
  /** What signs the URLs; asked for when it is first needed, and again only after it has failed. */
  readonly secret: () => Promise<Secret>
}

/** A storage whose signed URLs lead to the server that uses it, over whatever keeps the bytes. */
export function createSelfServingStorage(
  { shelf, partShelf, secret }: SelfServingStorageParts,
  { baseURL, now }: CheckedOptions,
): ObjectStorage {
  const signer = createUrlSigner(keptOnceMade(secret))

  async function urlOf(grant: Grant, serverURL: string): Promise<string> {
    return `${baseURL ?? serverURL}/${await signer.sign(grant)}`
  }

  return {
    async signUpload({ bucket, key, size, contentType, attemptId, expiresAt, serverURL, signal }) {
      signal?.throwIfAborted()
      const expires = expiresAt.getTime()
      const grant: Grant = { method: 'PUT', bucket, key, expiresAt: expires, size, contentType, attemptId }
      return {
        method: 'PUT',
        url: await urlOf(grant, serverURL),
        headers: { 'content-type': contentType, 'if-none-match': '*', [ATTEMPT_HEADER]: attemptId },
      }
    },

    async signDownload({ bucket, key, filename, contentType, expiresAt, serverURL, signal }) {
      signal?.throwIfAborted()
      const expires = expiresAt.getTime()
      const grant: Grant = { method: 'GET', bucket, key, expiresAt: expires, filename, contentType }
      return { url: await urlOf(grant, serverURL) }
    },

    async head({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return shelf.describe(bucket, key)
    },

    async remove({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return shelf.remove(bucket, key)
    },

    multipart: createSelfServingMultipart(partShelf, urlOf),

    serve: createSignedUrlService(signer, { shelf, partShelf }, now),
  }
}
