import type { SubtreeExchange } from '../../core/http/handler.js'
import { StorageError } from '../../core/errors.js'
import { downloadHeaders } from '../../core/http/download-headers.js'
import { errorResponse, toResponse } from '../../core/http/response.js'
import type { RequestBody } from '../../core/http/request-body.js'
import { servedType, uploadHeaders } from '../headers.js'
import type { ByteStore } from './contract.js'
import { answerTo } from './range-requests.js'
import type { DownloadTerms, ObjectTerms, PartTerms, UrlEnd, UrlSigner } from './signed-urls.js'
import { wrongLength } from './writes.js'

/** Prevents uploaded files from running scripts on the application's origin. */
const SANDBOX_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
}

const NEVER_CACHED = 'private, no-store'

type WriteTo<Terms> = (terms: Terms, body: RequestBody) => Promise<string | null>

/** Serves the signed URLs of a storage. The writers return `null` for an object that exists and an upload that has ended. */
export function serveSignedUrls(
  signer: UrlSigner,
  objects: ByteStore,
  writeObject: WriteTo<ObjectTerms>,
  writePart: WriteTo<PartTerms>,
  now: () => Date,
): (exchange: SubtreeExchange) => Promise<Response> {
  async function put(grant: ObjectTerms, exchange: SubtreeExchange): Promise<Response> {
    checkHeaders(exchange.request.headers, grant)
    const eTag = await writeObject(grant, exchange.body)
    if (eTag === null) {
      throw new StorageError('KEY_CONFLICT', { message: 'An object has already been uploaded here.' })
    }
    return stored(eTag)
  }

  async function putPart(grant: PartTerms, exchange: SubtreeExchange): Promise<Response> {
    checkLength(exchange.request.headers, grant.size)
    const eTag = await writePart(grant, exchange.body)
    if (eTag === null) {
      const message = 'The multipart upload has been completed or aborted.'
      throw new StorageError('OBJECT_NOT_FOUND', { message })
    }
    return stored(eTag)
  }

  async function get(grant: DownloadTerms & UrlEnd, { headers: asked }: Request): Promise<Response> {
    // Built before opening: an error after it would leave the source open.
    const contentType = servedType(grant.contentType)
    const cacheControl = cachedUntil(grant.expiresAt, grant.cacheControl)
    const { 'cache-control': cached, ...file } = downloadHeaders({ ...grant, contentType, cacheControl })
    const found = await objects.open(grant.bucket, grant.key, (object) => answerTo(asked, object))
    if (found === null) throw new StorageError('OBJECT_NOT_FOUND')
    const { status, body } = found
    const headers = { ...found.headers, 'cache-control': status === 416 ? NEVER_CACHED : cached }
    return new Response(body, {
      status,
      headers: status < 300 ? { ...headers, ...file, ...SANDBOX_HEADERS } : headers,
    })
  }

  /** Returns the `Cache-Control` of a URL that browsers may cache: its bytes leave the cache when it expires. */
  function cachedUntil(end: number, cacheControl: string | undefined): string | undefined {
    const seconds = Math.floor((end - now().getTime()) / 1000)
    return cacheControl?.replace(/\bmax-age=\d+/, `max-age=${seconds}`)
  }

  return async (exchange) => {
    switch (exchange.request.method) {
      case 'PUT': {
        const grant = await signer.verify(exchange.path, 'PUT', now())
        return 'partNumber' in grant ? putPart(grant, exchange) : put(grant, exchange)
      }
      case 'GET':
      case 'HEAD':
        return get(await signer.verify(exchange.path, 'GET', now()), exchange.request)
      default:
        return toResponse(
          errorResponse(new StorageError('METHOD_NOT_ALLOWED'), [['allow', 'GET, HEAD, PUT']]),
        )
    }
  }
}

function stored(eTag: string): Response {
  return new Response(null, { status: 200, headers: { 'cache-control': NEVER_CACHED, etag: eTag } })
}

function checkHeaders(headers: Headers, grant: ObjectTerms): void {
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
  if (declared !== null && declared !== String(size)) throw wrongLength(size, `Content-Length: ${declared}`)
}
