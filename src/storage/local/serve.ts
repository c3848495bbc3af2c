import type { SubtreeExchange } from '../../core/http/handler.js'
import { StorageError } from '../../core/errors.js'
import { toResponse } from '../../core/http/plain-response.js'
import { errorResponse } from '../../core/http/reply.js'
import { downloadHeaders } from '../headers.js'
import { servedType } from '../headers.js'
import { uploadHeaders } from '../headers.js'
import type { ByteStore } from './contract.js'
import type { BytesWriter } from './writes.js'
import { wrongLength } from './upload-chunks.js'
import type { DownloadGrant, PartGrant, UploadGrant, UrlSigner } from './signed-urls.js'

const NO_STORE = 'private, no-store'

/** Prevents uploaded files from running scripts on the application's origin. */
const SANDBOX_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
}

/** Serves the URLs of a signer, like a bucket serves its presigned URLs. */
export function createSignedUrlService(
  signer: UrlSigner,
  byteStore: ByteStore,
  writer: BytesWriter,
  now: () => Date,
): (exchange: SubtreeExchange) => Promise<Response> {
  async function put(grant: UploadGrant, exchange: SubtreeExchange): Promise<Response> {
    checkHeaders(exchange.request.headers, grant)
    const eTag = await writer.writeObject(grant, exchange.body)
    if (eTag === null) throw alreadyExists()
    return stored(eTag)
  }

  async function putPart(grant: PartGrant, exchange: SubtreeExchange): Promise<Response> {
    checkLength(exchange.request.headers, grant.size)
    const eTag = await writer.writePart(grant, exchange.body)
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
        return toResponse(errorResponse(new StorageError('METHOD_NOT_ALLOWED'), { allow: 'GET, HEAD, PUT' }))
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
