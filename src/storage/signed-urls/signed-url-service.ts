import type { SubtreeExchange } from '../../core/http/handler.js'
import { StorageError } from '../../core/errors.js'
import { errorResponse } from '../../core/http/reply.js'
import { ATTEMPT_HEADER } from '../headers/attempt-header.js'
import { downloadHeaders } from '../headers/download-headers.js'
import type { ByteShelf } from './byte-shelf.js'
import type { PartShelf } from './part-shelf.js'
import { otherLength, uploadChunks } from './upload-chunks.js'
import type { DownloadGrant, PartGrant, UploadGrant, UrlSigner } from './url-signer.js'

const NEVER_CACHED = 'private, no-store'

/** What users uploaded must never run as a page of the application's own origin. */
const HARMLESS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
}

/** Serves the URLs of a signer, as a bucket serves its own. */
export function createSignedUrlService(
  signer: UrlSigner,
  { shelf, partShelf }: { readonly shelf: ByteShelf; readonly partShelf: PartShelf },
  now: () => Date,
): (exchange: SubtreeExchange) => Promise<Response> {
  async function put(grant: UploadGrant, { request, body }: SubtreeExchange): Promise<Response> {
    const { bucket, key, contentType, attemptId } = grant
    checkHeaders(request.headers, grant)
    // The second look, in create, is the one that counts; this one spares an upload that can't succeed.
    if ((await shelf.describe(bucket, key)) !== null) throw taken()
    const chunks = uploadChunks(body, grant.size)
    const eTag = await shelf.create(bucket, key, { chunks, contentType, attemptId })
    if (eTag === null) throw taken()
    return stored(eTag)
  }

  async function putPart(grant: PartGrant, { request, body }: SubtreeExchange): Promise<Response> {
    checkLength(request.headers, grant.size)
    // As above: the look in write counts.
    if (!(await partShelf.isOpen(grant))) throw uploadEnded()
    const eTag = await partShelf.write(grant, grant.partNumber, uploadChunks(body, grant.size))
    if (eTag === null) throw uploadEnded()
    return stored(eTag)
  }

  async function get(grant: DownloadGrant): Promise<Response> {
    // Made first: nothing may fail once what feeds the answer is open.
    const headers = { ...downloadHeaders(grant), ...HARMLESS }
    const found = await shelf.open(grant.bucket, grant.key)
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
  return new Response(null, { status: 200, headers: { 'cache-control': NEVER_CACHED, etag: eTag } })
}

function checkHeaders(headers: Headers, { size, contentType, attemptId }: UploadGrant): void {
  const expected = { 'content-type': contentType, [ATTEMPT_HEADER]: attemptId, 'if-none-match': '*' }
  for (const [name, value] of Object.entries(expected)) {
    if (headers.get(name) !== value) {
      const message = `The header ${name} must be the one that was signed, ${JSON.stringify(value)}.`
      throw new StorageError('VALIDATION_ERROR', { message, params: { field: name } })
    }
  }
  checkLength(headers, size)
}

/** Spares the reading of a body that says itself that it is another one. */
function checkLength(headers: Headers, size: number): void {
  const announced = headers.get('content-length')
  if (announced !== null && announced !== String(size)) throw otherLength(size)
}

function taken(): StorageError {
  return new StorageError('KEY_CONFLICT', { message: 'Something has been uploaded here already.' })
}

function uploadEnded(): StorageError {
  return new StorageError('OBJECT_NOT_FOUND', {
    message: 'The upload of this part has been completed or aborted.',
  })
}
