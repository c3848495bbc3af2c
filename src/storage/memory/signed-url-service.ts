import type { RequestBody } from '../../core/http/request-body.js'
import type { SubtreeExchange } from '../../core/http/handler.js'
import { errorResponse, readBytes, StorageError } from '../../server/object-storage.js'
import { attachmentNamed } from './content-disposition.js'
import type { DownloadGrant, UploadGrant, UrlSigner } from './url-signer.js'

/** What is written by an upload URL. */
export interface NewBytes {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string
  readonly attemptId: string
}

/** Where the service keeps the bytes. */
export interface ByteShelf {
  /** `null`: nothing is there. */
  read(bucket: string, key: string): Promise<Uint8Array<ArrayBuffer> | null>
  exists(bucket: string, key: string): Promise<boolean>
  /** Writes only where nothing is; resolves to the ETag, or to `null` where something was. */
  create(bucket: string, key: string, content: NewBytes): Promise<string | null>
}

/** By this header an upload says which attempt it belongs to. */
export const ATTEMPT_HEADER = 'x-amz-meta-attempt-id'

const NEVER_CACHED = 'private, no-store'

/** Serves the URLs of a signer, as a bucket serves its own. */
export function createSignedUrlService(
  signer: UrlSigner,
  shelf: ByteShelf,
  now: () => Date,
): (exchange: SubtreeExchange) => Promise<Response> {
  async function put(grant: UploadGrant, { request, body }: SubtreeExchange): Promise<Response> {
    const { bucket, key, contentType, attemptId } = grant
    checkHeaders(request.headers, grant)
    // The second look, in create, is the one that counts; this one spares an upload that can't succeed.
    if (await shelf.exists(bucket, key)) throw taken()
    const bytes = await bytesOf(body, grant.size)
    const eTag = await shelf.create(bucket, key, { bytes, contentType, attemptId })
    if (eTag === null) throw taken()
    return new Response(null, { status: 200, headers: { 'cache-control': NEVER_CACHED, etag: eTag } })
  }

  async function get({ bucket, key, filename, contentType }: DownloadGrant): Promise<Response> {
    const bytes = await shelf.read(bucket, key)
    if (bytes === null) throw new StorageError('OBJECT_NOT_FOUND')
    return new Response(bytes, {
      headers: {
        'cache-control': NEVER_CACHED,
        'content-type': contentType !== null && isHeaderText(contentType) ? contentType : UNKNOWN_TYPE,
        'content-length': String(bytes.byteLength),
        'content-disposition': attachmentNamed(filename),
        // What users uploaded must never run as a page of the application's own origin.
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
      },
    })
  }

  return async (exchange) => {
    switch (exchange.request.method) {
      case 'PUT':
        return put(await signer.verify(exchange.path, 'PUT', now()), exchange)
      case 'GET':
      case 'HEAD':
        return get(await signer.verify(exchange.path, 'GET', now()))
      default:
        return errorResponse(new StorageError('METHOD_NOT_ALLOWED'), { allow: 'GET, HEAD, PUT' })
    }
  }
}

const UNKNOWN_TYPE = 'application/octet-stream'

function isHeaderText(text: string): boolean {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(text)
}

function checkHeaders(headers: Headers, { size, contentType, attemptId }: UploadGrant): void {
  const expected = { 'content-type': contentType, [ATTEMPT_HEADER]: attemptId, 'if-none-match': '*' }
  for (const [name, value] of Object.entries(expected)) {
    if (headers.get(name) !== value) {
      throw invalid(name, `The header ${name} must be the one that was signed, ${JSON.stringify(value)}.`)
    }
  }
  const announced = headers.get('content-length')
  if (announced !== null && announced !== String(size)) throw otherLength(size)
}

async function bytesOf(body: RequestBody, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = body.kind === 'parsed' ? parsedBytes(body.value) : await readBytes(body.open(), size)
  if (bytes.byteLength !== size) throw otherLength(size)
  return bytes
}

/** A raw parser keeps the bytes; of what any other one made of them they can't be had back. */
function parsedBytes(value: unknown): Uint8Array<ArrayBuffer> {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  throw invalid('body', 'A body parser has consumed the bytes of this upload; mount the server before it.')
}

function otherLength(size: number): StorageError {
  return invalid('body', `The body must have the ${size} bytes that were signed.`)
}

function invalid(field: string, message: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { message, params: { field } })
}

function taken(): StorageError {
  return new StorageError('KEY_CONFLICT', { message: 'Something has been uploaded here already.' })
}
