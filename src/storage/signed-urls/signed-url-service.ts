import type { SubtreeExchange } from '../../core/http/handler.js'
import { StorageError } from '../../core/errors.js'
import { errorResponse } from '../../core/http/reply.js'
import { downloadHeaders } from '../headers/download-headers.js'
import { uploadHeaders } from '../headers/upload-headers.js'
import type { ByteStore } from './byte-store.js'
import type { PartStore } from './part-store.js'
import { wrongLength, uploadChunks } from './upload-chunks.js'
import type { DownloadGrant, PartGrant, UploadGrant, UrlSigner } from './url-signer.js'

const NO_STORE = 'private, no-store'

/** Prevents uploaded files from running scripts on the application's origin. */
const SANDBOX_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
}

/** Serves the URLs of a signer, like a bucket serves its presigned URLs. */
export function createSignedUrlService(
  signer: UrlSigner,
  { byteStore, partStore }: { readonly byteStore: ByteStore; readonly partStore: PartStore },
  now: () => Date,
): (exchange: SubtreeExchange) => Promise<Response> {
  async function put(grant: UploadGrant, { request, body }: SubtreeExchange): Promise<Response> {
    const { bucket, key, contentType, attemptId } = grant
    checkHeaders(request.headers, grant)
    // Refuses early what can't succeed. The check in create() is the authoritative one.
    if ((await byteStore.describe(bucket, key)) !== null) throw alreadyExists()
    const chunks = uploadChunks(body, grant.size)
    const eTag = await byteStore.create(bucket, key, { chunks, contentType, attemptId })
    if (eTag === null) throw alreadyExists()
    return stored(eTag)
  }

  async function putPart(grant: PartGrant, { request, body }: SubtreeExchange): Promise<Response> {
    checkLength(request.headers, grant.size)
    // As above: the check in write() is the authoritative one.
    if (!(await partStore.isOpen(grant))) throw uploadEnded()
    const eTag = await partStore.write(grant, grant.partNumber, uploadChunks(body, grant.size))
    if (eTag === null) throw uploadEnded()
    return stored(eTag)
  }

  async function get(grant: DownloadGrant): Promise<Response> {
    // Built before opening: an error after it would leave the source open.
    const headers = { ...downloadHeaders(grant), ...SANDBOX_HEADERS }
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

function alreadyExists(): StorageError {
  return new StorageError('KEY_CONFLICT', { message: 'An object has already been uploaded here.' })
}

function uploadEnded(): StorageError {
  return new StorageError('OBJECT_NOT_FOUND', {
    message: 'The multipart upload has been completed or aborted.',
  })
}
