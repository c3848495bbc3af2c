import type { ObjectStorage, StoredBytes } from '../../server/object-storage.js'
import { ATTEMPT_HEADER, createSignedUrlService, type ByteShelf } from './signed-url-service.js'
import { createUrlSigner, type Grant, type Secret } from './url-signer.js'

export interface MemoryStorageOptions {
  /**
   * Absolute URL of the place where the server's `{basePath}/_storage` is reached from outside, where a proxy hides it.
   * Default: that of the request which asks for a URL.
   */
  readonly baseURL?: string | null | undefined
  /** The clock by which URLs expire. Default: the system's. */
  readonly now?: (() => Date) | null | undefined
}

interface Stored extends StoredBytes {
  readonly bytes: Uint8Array<ArrayBuffer>
}

/**
 * A bucket service in memory, for tests and demos. Every bucket exists. Its signed URLs lead to the server that uses it,
 * and end with this instance, as do the bytes.
 *
 * @throws TypeError for a `baseURL` that is no absolute http(s) URL.
 */
export function memoryStorage(options: MemoryStorageOptions = {}): ObjectStorage {
  const baseURL = checkBaseURL(options.baseURL)
  const now = options.now ?? (() => new Date())
  const contents = new Map<string, Stored>()
  const signer = createUrlSigner(once(createSecret))

  const shelf: ByteShelf = {
    read: async (bucket, key) => contents.get(place(bucket, key))?.bytes ?? null,
    exists: async (bucket, key) => contents.has(place(bucket, key)),
    async create(bucket, key, { bytes, contentType, attemptId }) {
      const eTag = `"${await digestOf(bytes)}"`
      // From here on nothing is awaited, so that of two uploads to one place one is first.
      const at = place(bucket, key)
      if (contents.has(at)) return null
      contents.set(at, { bytes, size: bytes.byteLength, contentType, eTag, attemptId })
      return eTag
    },
  }

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
      const stored = contents.get(place(bucket, key))
      if (!stored) return null
      const { size, contentType, eTag, attemptId } = stored
      return { size, contentType, eTag, attemptId }
    },

    async remove({ bucket, key, signal }) {
      signal?.throwIfAborted()
      contents.delete(place(bucket, key))
    },

    serve: createSignedUrlService(signer, shelf, now),
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

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function checkBaseURL(baseURL: unknown): string | null {
  if (baseURL === undefined || baseURL === null) return null
  const url = typeof baseURL === 'string' && URL.canParse(baseURL) ? new URL(baseURL) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `memoryStorage: baseURL must be an absolute http(s) URL without query, not ${JSON.stringify(baseURL)}.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}
