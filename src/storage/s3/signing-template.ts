import type { S3Client } from '@aws-sdk/client-s3'
import { S3RequestPresigner } from '@aws-sdk/s3-request-presigner'
import type { SignatureLifetime } from './url-lifetime.js'

type HttpRequest = Parameters<S3RequestPresigner['presign']>[0]

/** What a request sends, apart from its body. */
export interface SignableRequest {
  readonly key: string
  /** The headers to sign in addition to `host`, by names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The parameters of the operation in the URL. */
  readonly query: Readonly<Record<string, string>>
}

/** A request as the SDK built it, before it signed it, and how it signs requests to that endpoint. */
export interface BuiltRequest {
  readonly request: HttpRequest
  readonly scheme: AuthScheme | undefined
}

/** The part of an endpoint of the SDK that tells how to sign. */
interface AuthScheme {
  readonly name: string
  readonly signingName?: string
  readonly signingRegion?: string
}

/** Signs the requests of one kind to one bucket. */
export interface SigningTemplate {
  /** Returns the presigned URL. */
  sign(request: SignableRequest, lifetime: SignatureLifetime): Promise<string>
}

/**
 * Creates a template from a request that the SDK built: what all requests of this kind to this bucket have in common, and the SDK's
 * signer. Signing with a template takes a tenth of the time, because it skips building the request. Returns `null` if the path
 * doesn't end with the key, or the endpoint needs another signature than the usual one (V4).
 */
export function signingTemplate(
  { config }: S3Client,
  { request: built, scheme }: BuiltRequest,
  { key, query }: SignableRequest,
): SigningTemplate | null {
  const { method, protocol, hostname, port, path } = built
  const { name, signingName, signingRegion } = scheme ?? {}
  const end = encodedKey(key)
  if (name !== 'sigv4' || !signingName || !signingRegion || !path.endsWith(`/${end}`)) return null
  const folder = path.slice(0, path.length - end.length)
  const common = Object.fromEntries(Object.entries(built.query ?? {}).filter(([name]) => !(name in query)))
  const signer = new S3RequestPresigner({
    ...config,
    signingName,
    region: () => Promise.resolve(signingRegion),
  })

  return {
    async sign({ key, query, headers }, lifetime) {
      const request = {
        ...{ method, protocol, hostname, ...(port !== undefined && { port }) },
        path: folder + encodedKey(key),
        query: { ...common, ...query },
        headers: { ...headers },
      }
      const signed = await signer.presign(request, {
        ...{ ...lifetime, ...bindingOf(headers) },
        ...{ signingRegion, signingService: signingName },
      })
      const authority = port === undefined ? hostname : `${hostname}:${port}`
      return `${protocol}//${authority}${request.path}?${queryString(signed.query ?? {})}`
    },
  }
}

/**
 * Returns the presigner's options that sign these headers and no others. By default, the SDK does not sign the content type, and
 * moves the metadata into the query.
 */
export function bindingOf(headers: SignableRequest['headers']): {
  readonly signableHeaders: Set<string>
  readonly unhoistableHeaders: Set<string>
} {
  const names = Object.keys(headers)
  return { signableHeaders: new Set(names), unhoistableHeaders: new Set(names) }
}

function encodedKey(key: string): string {
  return key.split('/').map(encoded).join('/')
}

function queryString(query: NonNullable<HttpRequest['query']>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encoded(name)}=${encoded(String(query[name]))}`)
    .join('&')
}

/** Encodes all but the unreserved characters of RFC 3986, which is what a signature (V4) is computed of. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
