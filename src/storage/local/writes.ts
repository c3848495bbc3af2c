import type { RequestBody } from '../../core/http/request-body.js'
import { StorageError } from '../../core/errors.js'
import type { ByteStore } from './contract.js'
import type { PartStore } from './part-store.js'
import { uploadChunks } from './upload-chunks.js'
import type { PartGrant, UploadGrant } from './signed-urls.js'
import { createWriteTurns, type ClaimWrite, type WriteTurn } from './write-turns.js'

/** How long bytes may arrive after `writableUntil`, in milliseconds. Then `cleanUp` stops looking for them. */
const GRACE_MS = 60 * 60 * 1000

/** The terms of a write, whether a signed URL grants them or the server itself writes. */
export type ObjectTerms = Omit<UploadGrant, 'method' | 'expiresAt'>
export type PartTerms = Omit<PartGrant, 'method' | 'expiresAt'>

/**
 * Writes bytes of exactly the agreed size. Both methods return the ETag.
 * @throws StorageError `VALIDATION_ERROR` for any other size, `FORBIDDEN` if the bytes come too late, `KEY_CONFLICT` if another
 * write to the same target is in progress.
 */
export interface BytesWriter {
  /** Returns `null` if the object exists already. */
  writeObject(terms: ObjectTerms, body: RequestBody): Promise<string | null>
  /** Returns `null` if the upload does not exist or has ended. */
  writePart(terms: PartTerms, body: RequestBody): Promise<string | null>
}

export interface WritableBackend {
  readonly byteStore: ByteStore
  readonly partStore: PartStore
  /** Claims a write among all processes that share the backend. */
  readonly claimWrite: ClaimWrite
}

export function createBytesWriter(
  { byteStore, partStore, claimWrite }: WritableBackend,
  now: () => Date,
): BytesWriter {
  const runWrite = createWriteTurns(now, claimWrite)

  /** Returns a function that refuses bytes which come too late. @throws StorageError `FORBIDDEN` */
  function deadlineOf({ writableUntil = Infinity }: ObjectTerms | PartTerms): () => void {
    const end = writableUntil + GRACE_MS
    return () => {
      if (now().getTime() >= end) throw tooLate(new Date(end))
    }
  }

  /** Reads the body of a write, and ends it as soon as it is too late. */
  async function* incoming(
    body: RequestBody,
    terms: ObjectTerms | PartTerms,
    turn: WriteTurn,
  ): AsyncGenerator<Uint8Array, void> {
    const checkDeadline = deadlineOf(terms)
    for await (const chunk of uploadChunks(body, terms.size, turn)) {
      checkDeadline()
      yield chunk
    }
  }

  return {
    async writeObject(terms, body) {
      const { bucket, key, contentType, attemptId } = terms
      // Refuses early what can't succeed. The check in create() is the authoritative one.
      if ((await byteStore.describe(bucket, key)) !== null) return null
      const beforePublishing = deadlineOf(terms)
      return runWrite(JSON.stringify([bucket, key]), (turn) => {
        const chunks = incoming(body, terms, turn)
        return byteStore.create(bucket, key, { chunks, beforePublishing, contentType, attemptId })
      })
    },

    async writePart(terms, body) {
      const { bucket, key, uploadId, partNumber } = terms
      // As above: the check in write() is the authoritative one.
      if (!(await partStore.isOpen(terms))) return null
      const beforePublishing = deadlineOf(terms)
      return runWrite(JSON.stringify([bucket, key, uploadId, partNumber]), (turn) => {
        const chunks = incoming(body, terms, turn)
        return partStore.write(terms, partNumber, { chunks, beforePublishing })
      })
    },
  }
}

function tooLate(end: Date): StorageError {
  return new StorageError('FORBIDDEN', {
    message: `The upload took too long: bytes were accepted until ${end.toISOString()}.`,
  })
}
