import type { RequestBody } from '../../core/http/request-body.js'
import type { MultipartStorage, StoredPart } from '../../core/object-storage.js'
import {
  PartChangedError,
  type Description,
  type LocalBackend,
  type UploadReference,
  type WriteClaim,
} from './contract.js'
import type { PartTerms, SignUrl } from './signed-urls.js'
import type { WriteBody } from './writes.js'

/** Parts per page, as in S3. */
const PAGE_SIZE = 1000

/** Milliseconds between two looks whether another process has completed an upload. */
const CLAIM_EVERY_MS = 100

/** The format of our upload ids. No other string becomes part of a file name. */
const UPLOAD_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Creates the multipart half of a local storage. Uploads to a key that has an object count as ended. */
export function createLocalMultipart(
  { objects, parts: store, claimWrite }: Pick<LocalBackend, 'objects' | 'parts' | 'claimWrite'>,
  write: WriteBody,
  signUrl: SignUrl,
) {
  async function hasObject(bucket: string, key: string): Promise<boolean> {
    return (await objects.describe(bucket, key)) !== null
  }

  /** Returns `null` if the upload does not exist or has ended. */
  async function describe({ bucket, key, uploadId }: UploadReference): Promise<Description | null> {
    if (!UPLOAD_ID.test(uploadId) || (await hasObject(bucket, key))) return null
    return store.describe({ bucket, key, uploadId })
  }

  /** Returns the ETag, or `null` if the upload does not exist or has ended. */
  async function writePart(terms: PartTerms, body: RequestBody, waits = false): Promise<string | null> {
    const { bucket, key, uploadId, partNumber } = terms
    const upload = { bucket, key, uploadId }
    const description = await describe(upload)
    if (!description) return null
    const target = JSON.stringify([bucket, key, uploadId, partNumber])
    return write(target, { ...terms, waits }, body, async (bytes) => {
      const eTag = await store.write(upload, partNumber, { ...bytes, ...description })
      if (await describe(upload)) return eTag
      // The call that ended the upload in the meantime may not have seen this part.
      await store.remove(upload)
      return null
    })
  }

  async function* join(
    upload: UploadReference,
    parts: readonly Omit<StoredPart, 'size'>[],
    claim: WriteClaim,
  ) {
    for (const part of parts) {
      for await (const chunk of store.read(upload, part)) {
        // Keeps the claim. If another process has taken over all the same, only one of the copies becomes the object.
        await claim.keep()
        yield chunk
      }
    }
  }

  /** Waits while another process completes the upload. */
  async function claimCompletion({ uploadId }: UploadReference): Promise<WriteClaim> {
    for (;;) {
      const claim = await claimWrite(uploadId)
      if (claim) return claim
      await new Promise((resolve) => setTimeout(resolve, CLAIM_EVERY_MS))
    }
  }

  /** Creates the object from the parts. Returns `false` if that is impossible. */
  async function complete(
    upload: UploadReference,
    parts: readonly Omit<StoredPart, 'size'>[],
  ): Promise<boolean> {
    const claim = await claimCompletion(upload)
    try {
      const description = await describe(upload)
      if (!description) return false
      const beforePublishing = async () => {
        if (!(await describe(upload))) throw new PartChangedError()
      }
      const content = { chunks: join(upload, parts, claim), beforePublishing, ...description }
      if ((await objects.create(upload.bucket, upload.key, content)) === null) return false
    } catch (error) {
      if (error instanceof PartChangedError) return false
      throw error
    } finally {
      await claim.release()
    }
    // The object exists, so the upload has ended. Parts that can't be removed now only take up space.
    await store.remove(upload).catch(() => undefined)
    return true
  }

  /** The completions of this process in progress, by upload id. Each writes a copy of all bytes, so there is one at a time. */
  const completions = new Map<string, Promise<unknown>>()

  const multipart: MultipartStorage = {
    async create({ bucket, key, contentType, attemptId, signal }) {
      signal?.throwIfAborted()
      const uploadId = crypto.randomUUID()
      await store.begin({ bucket, key, uploadId }, { contentType, attemptId })
      return { uploadId }
    },

    async signPart({ bucket, key, uploadId, partNumber, size, writableUntil, signal, ...input }) {
      signal?.throwIfAborted()
      const terms = { bucket, key, uploadId, partNumber, size, writableUntil: writableUntil?.getTime() }
      return { url: await signUrl({ method: 'PUT', ...terms }, input) }
    },

    async writePart({ bucket, key, uploadId, partNumber, body, writableUntil, signal }) {
      signal?.throwIfAborted()
      const size = body.byteLength
      const terms = { bucket, key, uploadId, partNumber, size, writableUntil: writableUntil?.getTime() }
      return writePart(terms, { kind: 'parsed', value: body }, true)
    },

    async listParts({ bucket, key, uploadId, after, signal }) {
      signal?.throwIfAborted()
      if (!UPLOAD_ID.test(uploadId)) return null
      const upload = { bucket, key, uploadId }
      if (await hasObject(bucket, key)) {
        // The process that completed the upload may have stopped before it removed the parts.
        await store.remove(upload)
        return null
      }
      const stored = await store.list(upload)
      if (stored === null) return null
      const rest = stored
        .filter(({ partNumber }) => partNumber > after)
        .sort((one, other) => one.partNumber - other.partNumber)
      const parts = rest.slice(0, PAGE_SIZE)
      return { parts, next: rest.length > PAGE_SIZE ? (parts.at(-1)?.partNumber ?? null) : null }
    },

    async complete({ bucket, key, uploadId, parts, signal }) {
      signal?.throwIfAborted()
      const completion = (completions.get(uploadId) ?? Promise.resolve())
        .catch(() => undefined)
        .then(() => complete({ bucket, key, uploadId }, parts))
      completions.set(uploadId, completion)
      try {
        return await completion
      } finally {
        if (completions.get(uploadId) === completion) completions.delete(uploadId)
      }
    },

    async abort({ bucket, key, uploadId, signal }) {
      signal?.throwIfAborted()
      if (UPLOAD_ID.test(uploadId)) await store.remove({ bucket, key, uploadId })
    },

    async list({ bucket, key, signal }) {
      signal?.throwIfAborted()
      return (await hasObject(bucket, key)) ? [] : store.uploads(bucket, key)
    },
  }

  return { multipart, writePart }
}
