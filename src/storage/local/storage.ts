import type { ObjectStorage } from '../../core/object-storage.js'
import { shortFilename } from '../headers.js'
import { uploadHeaders } from '../headers.js'
import { createBytesWriter, type WritableBackend } from './writes.js'
import { createSelfServingMultipart } from './parts.js'
import type { CheckedOptions } from './self-serving-options.js'
import { pageOfObjects } from './page-of-objects.js'
import { createSignedUrlService } from './serve.js'
import { streamOf } from './stream-of-bytes.js'
import {
  createUrlSigner,
  type DownloadGrant,
  type Grant,
  type Secret,
  type UploadGrant,
} from './signed-urls.js'

export interface SelfServingBackend extends WritableBackend {
  /** Returns the secret that signs the URLs. Called on first use, and again only after it has failed. */
  readonly secret: () => Promise<Secret>
}

/** Creates a storage whose signed URLs point to the server that uses it. The backend stores the bytes. */
export function createSelfServingStorage(
  { secret, ...backend }: SelfServingBackend,
  { baseURL, now }: CheckedOptions,
): ObjectStorage {
  const { byteStore, partStore } = backend
  const signer = createUrlSigner(onceSuccessful(secret))
  const writer = createBytesWriter(backend, now)

  async function urlOf(grant: Grant, serverURL: string): Promise<string> {
    return `${baseURL ?? serverURL}/${await signer.sign(grant)}`
  }

  return {
    async signUpload(input) {
      const { bucket, key, size, contentType, attemptId, expiresAt, serverURL, signal } = input
      signal?.throwIfAborted()
      const grant: UploadGrant = {
        method: 'PUT',
        bucket,
        key,
        expiresAt: expiresAt.getTime(),
        size,
        contentType,
        attemptId,
        writableUntil: input.writableUntil?.getTime(),
      }
      return { method: 'PUT', url: await urlOf(grant, serverURL), headers: uploadHeaders(grant) }
    },

    async signDownload(input) {
      const { bucket, key, filename, contentType, expiresAt, serverURL, signal } = input
      signal?.throwIfAborted()
      const grant: DownloadGrant = {
        method: 'GET',
        bucket,
        key,
        expiresAt: expiresAt.getTime(),
        filename: shortFilename(filename),
        contentType,
        disposition: input.disposition ?? undefined,
        cacheControl: input.cacheControl ?? undefined,
      }
      return { url: await urlOf(grant, serverURL) }
    },

    async head({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return byteStore.describe(bucket, key)
    },

    async remove({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return byteStore.remove(bucket, key)
    },

    async write({ bucket, key, body, contentType, attemptId, writableUntil, signal }) {
      signal?.throwIfAborted()
      const size = body.byteLength
      const terms = { bucket, key, size, contentType, attemptId, writableUntil: writableUntil?.getTime() }
      return (await writer.writeObject(terms, { kind: 'parsed', value: body })) !== null
    },

    async read({ bucket, key, range, signal }) {
      signal?.throwIfAborted()
      const found = await byteStore.open(bucket, key, range ?? undefined)
      return found && streamOf(found.body)
    },

    async list({ bucket, signal, ...page }) {
      signal?.throwIfAborted()
      return pageOfObjects(byteStore.objects(bucket), { ...page, ...(signal && { signal }) })
    },

    multipart: createSelfServingMultipart(partStore, writer, urlOf),

    serve: createSignedUrlService(signer, byteStore, writer, now),

    baseURL,
  }
}

/** Wraps `make` to run on first use and cache its result. A failure is not cached: the next call retries. */
export function onceSuccessful<T>(make: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | null = null
  return () => {
    if (cached) return cached
    const pending = make()
    cached = pending
    pending.catch(() => {
      cached = null
    })
    return pending
  }
}
