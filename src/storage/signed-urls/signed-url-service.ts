import type { SubtreeExchange } from '../../core/http/handler.js'
import { StorageError } from '../../core/errors.js'
import { errorResponse } from '../../core/http/reply.js'
import { downloadHeaders } from '../headers/download-headers.js'
import { servedType } from '../headers/served-type.js'
import { uploadHeaders } from '../headers/upload-headers.js'
import type { ByteStore } from './byte-store.js'
import type { PartStore } from './part-store.js'
import { wrongLength, uploadChunks } from './upload-chunks.js'
import { createWriteTurns, type ClaimWrite, type WriteTurn } from './write-turns.js'
import type { DownloadGrant, PartGrant, UploadGrant, UrlSigner } from './url-signer.js'

const NO_STORE = 'private, no-store'

/** Prevents uploaded files from running scripts on the application's origin. */
const SANDBOX_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
}

/** How long bytes may arrive after `writableUntil`, in milliseconds. Then `cleanUp` stops looking for them. */
const GRACE_MS = 60 * 60 * 1000

export interface SignedUrlBackend {
  readonly byteStore: ByteStore
  readonly partStore: PartStore
  readonly claimWrite: ClaimWrite
}

/** Serves the URLs of a signer, like a bucket serves its presigned URLs. */
export function createSignedUrlService(
  signer: UrlSigner,
  { byteStore, partStore, claimWrite }: SignedUrlBackend,
  now: () => Date,
): (exchange: SubtreeExchange) => Promise<Response> {
  const runWrite = createWriteTurns(now, claimWrite)

  /** Returns a function that refuses bytes which come too late. @throws StorageError `FORBIDDEN` */
  function deadlineOf({ writableUntil = Infinity }: UploadGrant | PartGrant): () => void {
    const end = writableUntil + GRACE_MS
    return () => {
      if (now().getTime() >= end) throw tooLate(new Date(end))
    }
  }

  /** Reads the body of a write, and ends it as soon as it is too late. */
  async function* incoming(
    { body }: SubtreeExchange,
    grant: UploadGrant | PartGrant,
    turn: WriteTurn,
  ): AsyncGenerator<Uint8Array, void> {
    const checkDeadline = deadlineOf(grant)
    for await (const chunk of uploadChunks(body, grant.size, turn)) {
      checkDeadline()
      yield chunk
    }
  }

  async function put(grant: UploadGrant, exchange: SubtreeExchange): Promise<Response> {
    const { bucket, key, contentType, attemptId } = grant
    checkHeaders(exchange.request.headers, grant)
    // Refuses early what can't succeed. The check in create() is the authoritative one.
    if ((await byteStore.describe(bucket, key)) !== null) throw alreadyExists()
    const beforePublishing = deadlineOf(grant)
    const eTag = await runWrite(JSON.stringify([bucket, key]), (turn) => {
      const chunks = incoming(exchange, grant, turn)
      return byteStore.create(bucket, key, { chunks, beforePublishing, contentType, attemptId })
    })
    if (eTag === null) throw alreadyExists()
    return stored(eTag)
  }

  async function putPart(grant: PartGrant, exchange: SubtreeExchange): Promise<Response> {
    const { bucket, key, uploadId, partNumber } = grant
    checkLength(exchange.request.headers, grant.size)
    // As above: the check in write() is the authoritative one.
    if (!(await partStore.isOpen(grant))) throw uploadEnded()
    const beforePublishing = deadlineOf(grant)
    const eTag = await runWrite(JSON.stringify([bucket, key, uploadId, partNumber]), (turn) => {
      const chunks = incoming(exchange, grant, turn)
      return partStore.write(grant, partNumber, { chunks, beforePublishing })
    })
    if (eTag === null) throw uploadEnded()
    return stored(eTag)
  }

  async function get(grant: DownloadGrant): Promise<Response> {
    // Built before opening: an error after it would leave the source open.
    const contentType = servedType(grant.contentType)
    const headers = { ...downloadHeaders({ ...grant, contentType }), ...SANDBOX_HEADERS }
    const found = await byteStore.open(grant.bucket, grant.key)
    if (found === null) throw new StorageError('OBJECT_NOT_FOUND')
    return new Response(found.body, { headers: { ...headers, 'content-length': String(found.size) } })
  }

  return async (exchange) => {
    switch (exchange.request.method) {
      case 'PUT': {
        const grant = await signer.verify(exchange.path, 'PUT', now())
        return 'partNumber' in grant ? putPart(grant, exchange) : put(grant, exchange)
      }
      case 'GET':
      case 'HEAD':
        return get(await signer.verify(exchange.path, 'GET', now()))
      default:
        return errorResponse(new StorageError('METHOD_NOT_ALLOWED'), { allow: 'GET, HEAD, PUT' })
    }
  }
}

function stored(eTag: string): Response {
  return new Response(null, { status: 200, headers: { 'cache-control': NO_STORE, etag: eTag } })
}

function checkHeaders(headers: Headers, grant: UploadGrant): void {
  for (const [name, value] of Object.entries(uploadHeaders(grant))) {
    if (headers.get(name) !== value) {
      const message = `The header ${name} must be ${JSON.stringify(value)}, the value this URL is signed for.`
      throw new StorageError('VALIDATION_ERROR', { message, params: { field: name } })
    }
  }
  checkLength(headers, grant.size)
}

/** Refuses a body by its Content-Length, before reading it. */
function checkLength(headers: Headers, size: number): void {
  const declared = headers.get('content-length')
  if (declared !== null && declared !== String(size)) throw wrongLength(size)
}

function tooLate(end: Date): StorageError {
  return new StorageError('FORBIDDEN', {
    message: `The upload took too long: this URL accepts bytes until ${end.toISOString()}.`,
  })
}

function alreadyExists(): StorageError {
  return new StorageError('KEY_CONFLICT', { message: 'An object has already been uploaded here.' })
}

function uploadEnded(): StorageError {
  return new StorageError('OBJECT_NOT_FOUND', {
    message: 'The multipart upload has been completed or aborted.',
  })
}
