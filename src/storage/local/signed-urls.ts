import { StorageError } from '../../core/errors.js'
import type { Disposition } from '../../core/object-storage.js'

/** Milliseconds since 1970. Undefined in URLs of versions before 1.6. */
type WritableUntil = number | undefined

/** The permission in an upload URL. */
export interface UploadGrant {
  readonly method: 'PUT'
  readonly bucket: string
  readonly key: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Bytes, exactly. */
  readonly size: number
  readonly contentType: string
  readonly attemptId: string
  readonly writableUntil?: WritableUntil
}

/** The permission in the URL of a part. */
export interface PartGrant {
  readonly method: 'PUT'
  readonly bucket: string
  readonly key: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Bytes, exactly. */
  readonly size: number
  readonly uploadId: string
  readonly partNumber: number
  readonly writableUntil?: WritableUntil
}

/** The permission in a download URL. */
export interface DownloadGrant {
  readonly method: 'GET'
  readonly bucket: string
  readonly key: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly filename: string
  readonly contentType: string | null
  /** Undefined: the default of a download. Also in URLs of versions before 1.6. */
  readonly disposition?: Disposition | undefined
  readonly cacheControl?: string | undefined
}

export type Grant = UploadGrant | PartGrant | DownloadGrant

/** Signs and verifies the last path segment of a URL: a grant, and an HMAC signature over it. */
export interface UrlSigner {
  sign(grant: Grant): Promise<string>
  /**
   * Returns the grant of a URL.
   * @throws StorageError `FORBIDDEN` if the signature is invalid, the URL has expired, or it is for another method.
   */
  verify<Method extends Grant['method']>(
    segment: string,
    method: Method,
    now: Date,
  ): Promise<Extract<Grant, { method: Method }>>
}

/** An HMAC-SHA-256 key. (`CryptoKey` is a global type only in browsers.) */
export type Secret = Parameters<typeof crypto.subtle.sign>[1]

/** 32 bytes in base64url. */
const SIGNATURE = /^[\w-]{43}$/

/** Creates a signer with an HMAC secret. */
export function createUrlSigner(secret: () => Promise<Secret>): UrlSigner {
  return {
    async sign(grant) {
      const claims = toBase64Url(new TextEncoder().encode(JSON.stringify(grant)))
      const signature = await crypto.subtle.sign('HMAC', await secret(), new TextEncoder().encode(claims))
      return `${claims}.${toBase64Url(new Uint8Array(signature))}`
    },

    async verify(segment, method, now) {
      const [claims = '', signature = '', ...more] = segment.split('.', 3)
      const given = SIGNATURE.test(signature) ? fromBase64Url(signature) : null
      const signed = new TextEncoder().encode(claims)
      const genuine = given !== null && (await crypto.subtle.verify('HMAC', await secret(), given, signed))
      if (!genuine || more.length > 0) throw forbidden('The signature of this URL is invalid.')
      const grant = grantOf(claims)
      if (!isOf(grant, method)) throw forbidden(`This URL is signed for ${grant.method} requests only.`)
      if (grant.expiresAt <= now.getTime()) throw forbidden('This URL has expired.')
      return grant
    },
  }
}

function isOf<Method extends Grant['method']>(
  grant: Grant,
  method: Method,
): grant is Extract<Grant, { method: Method }> {
  return grant.method === method
}

/** Parses claims without validation, because their signature has been verified. */
function grantOf(claims: string): Grant {
  const bytes = fromBase64Url(claims) ?? new Uint8Array()
  return JSON.parse(new TextDecoder().decode(bytes)) as Grant
}

function forbidden(message: string): StorageError {
  return new StorageError('FORBIDDEN', { message })
}

function toBase64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Returns `null` if the text is not base64url. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[\w-]*$/.test(text)) return null
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
  } catch {
    return null
  }
}
