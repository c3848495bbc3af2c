import { shortFilename } from '../../core/http/download-headers.js'
import type { RequestBody } from '../../core/http/request-body.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import type { OptionChecks } from '../../core/option-checks.js'
import { isBuiltIn } from '../../core/realms.js'
import { shown } from '../../core/store/validation/checks.js'
import { uploadHeaders } from '../headers.js'
import { ALL_BYTES, type LocalBackend, type OpenBytes } from './contract.js'
import { pageOfObjects } from './page-of-objects.js'
import { createLocalMultipart } from './parts.js'
import { serveSignedUrls } from './serve.js'
import { createUrlSigner, type ObjectTerms, type SignUrl } from './signed-urls.js'
import { verifyLocal, type CheckedCalls } from './verify.js'
import { createWrites } from './writes.js'

/** The options of every storage that serves its own URLs. */
export interface LocalStorageOptions {
  /**
   * Absolute public URL of the server's `{basePath}/_storage`, for a server behind a proxy that changes its URL. Default:
   * derived from the request that asks for a URL, and replaced by the browser client with the API's address that it knows.
   */
  readonly baseURL?: string | null | undefined
  /** Returns the current time; URLs expire by it. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

/** The names of these options. */
export const LOCAL_OPTIONS = { baseURL: true, now: true } as const satisfies Record<
  keyof LocalStorageOptions,
  true
>

/** Creates a storage whose signed URLs point to its server, from options with known names. @throws TypeError that names the option. */
export function createLocalStorage(
  checks: OptionChecks,
  options: LocalStorageOptions,
  createBackend: (now: () => Date) => LocalBackend,
): ObjectStorage {
  const now = checks.function('now', options.now) ?? (() => new Date())
  const baseURL = checkBaseURL(checks, options.baseURL)
  const backend = createBackend(now)
  const { objects, claimWrite, secret } = backend
  const signer = createUrlSigner(onceSuccessful(secret))
  const write = createWrites(claimWrite, now)

  const signUrl: SignUrl = async (permission, { expiresAt, serverURL }) => {
    const segment = await signer.sign({ ...permission, expiresAt: expiresAt.getTime() })
    // The client asks at its API's address, unless there is a query.
    return baseURL === null ? `${serverURL}/${segment}` : `${baseURL}/${segment}?fixed`
  }

  const { multipart, writePart } = createLocalMultipart(backend, write, signUrl)

  /** Returns the ETag, or `null` if the object exists already. */
  async function writeObject(terms: ObjectTerms, body: RequestBody): Promise<string | null> {
    const { bucket, key, contentType, attemptId } = terms
    // Refuses early what can't succeed. The check in create() is the authoritative one.
    if ((await objects.describe(bucket, key)) !== null) return null
    if ((await objects.closedUntil(bucket, key)) > now().getTime()) return null
    return write(JSON.stringify([bucket, key]), terms, body, (bytes) =>
      objects.create(bucket, key, { ...bytes, contentType, attemptId }),
    )
  }

  const storage: ObjectStorage & CheckedCalls = {
    async signUpload({ bucket, key, size, contentType, attemptId, writableUntil, signal, ...input }) {
      signal?.throwIfAborted()
      const terms = { bucket, key, size, contentType, attemptId, writableUntil: writableUntil?.getTime() }
      const url = await signUrl({ method: 'PUT', ...terms }, input)
      return { method: 'PUT', url, headers: uploadHeaders(terms) }
    },

    async signDownload({ bucket, key, contentType, signal, ...input }) {
      signal?.throwIfAborted()
      const terms = {
        bucket,
        key,
        filename: shortFilename(input.filename),
        contentType,
        disposition: input.disposition ?? undefined,
        cacheControl: input.cacheControl ?? undefined,
      }
      return { url: await signUrl({ method: 'GET', ...terms }, input) }
    },

    async head({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return objects.describe(bucket, key)
    },

    async remove({ bucket, key, writableUntil, signal }) {
      signal?.throwIfAborted()
      // Before the bytes go, so that no request finds the name free in between.
      if (writableUntil && writableUntil > now()) await objects.close(bucket, key, writableUntil.getTime())
      return objects.remove(bucket, key)
    },

    async write({ bucket, key, body, contentType, attemptId, writableUntil, signal }) {
      signal?.throwIfAborted()
      const size = body.byteLength
      const terms = { bucket, key, size, contentType, attemptId, writableUntil: writableUntil?.getTime() }
      return (await writeObject(terms, { kind: 'parsed', value: body })) !== null
    },

    async read({ bucket, key, range, signal }) {
      signal?.throwIfAborted()
      const found = await objects.open(bucket, key, () => ({ range: range ?? ALL_BYTES }))
      return found?.body ? streamOf(found.body) : null
    },

    async list({ bucket, signal, ...page }) {
      signal?.throwIfAborted()
      return pageOfObjects(objects.objects(bucket), { ...page, ...(signal && { signal }) })
    },

    multipart,

    serve: serveSignedUrls(signer, objects, writeObject, writePart, now),

    baseURL,

    verify: (input) => verifyLocal(storage, input),
  }
  return storage
}

const CHUNK_BYTES = 64 * 1024

/** Returns a stream of copies, so that a reader can't change what is stored. A stream is returned as it is. */
function streamOf(body: OpenBytes): ReadableStream<Uint8Array> {
  if (!isBuiltIn(body, 'Uint8Array')) return body
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

function checkBaseURL(checks: OptionChecks, baseURL: unknown): string | null {
  if (baseURL === undefined || baseURL === null) return null
  const url = typeof baseURL === 'string' && URL.canParse(baseURL) ? new URL(baseURL) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw checks.error(
      `baseURL must be an absolute http(s) URL without query or fragment (got ${shown(baseURL)}).`,
    )
  }
  let end = url.href.length
  while (url.href[end - 1] === '/') end--
  return url.href.slice(0, end)
}
