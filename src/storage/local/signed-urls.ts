import { fromBase64Url, toBase64Url } from '../../core/bytes.js'
import { StorageError } from '../../core/errors.js'
import type { Disposition } from '../../core/object-storage.js'
import type { Secret } from './contract.js'

/** The write of an object that a URL permits. */
export interface ObjectTerms {
  readonly bucket: string
  readonly key: string
  /** Bytes, exactly. */
  readonly size: number
  readonly contentType: string
  readonly attemptId: string
  /** Milliseconds since 1970. Undefined in URLs of versions before 2.0. */
  readonly writableUntil?: number | undefined
}

export interface PartTerms extends Omit<ObjectTerms, 'contentType' | 'attemptId'> {
  readonly uploadId: string
  readonly partNumber: number
}

export interface DownloadTerms {
  readonly bucket: string
  readonly key: string
  readonly filename: string
  readonly contentType: string | null
  /** Undefined: the default of a download. Also in URLs of versions before 2.0. */
  readonly disposition?: Disposition | undefined
  readonly cacheControl?: string | undefined
}

export type Permission =
  ({ readonly method: 'PUT' } & (ObjectTerms | PartTerms)) | ({ readonly method: 'GET' } & DownloadTerms)

/** Signs a URL that grants a permission until it expires, below the URL of the server or of the storage. */
export type SignUrl = (
  permission: Permission,
  input: { readonly expiresAt: Date; readonly serverURL: string },
) => Promise<string>

/** When a permission ends, in milliseconds since 1970. */
export interface UrlEnd {
  readonly expiresAt: number
}

export type Grant = Permission & UrlEnd

/** 32 bytes in base64url. */
const SIGNATURE = /^[\w-]{43}$/

export type UrlSigner = ReturnType<typeof createUrlSigner>

/** @throws Error that names what jsdom lacks. */
export function webCrypto(): typeof crypto.subtle {
  const { subtle } = crypto as Partial<typeof crypto>
  if (!subtle) throw new Error('crypto.subtle is missing in this environment.')
  return subtle
}

/** Signs and verifies the last path segment of URLs: a grant, and an HMAC signature over it. */
export function createUrlSigner(secret: () => Promise<Secret>) {
  return {
    async sign(grant: Grant): Promise<string> {
      const claims = toBase64Url(new TextEncoder().encode(JSON.stringify(grant)))
      const signature = await webCrypto().sign('HMAC', await secret(), new TextEncoder().encode(claims))
      return `${claims}.${toBase64Url(new Uint8Array(signature))}`
    },

    /** Returns the grant of a URL. @throws StorageError `FORBIDDEN` if it is invalid, has expired, or is for another method. */
    async verify<Method extends Grant['method']>(segment: string, method: Method, now: Date) {
      const [claims = '', signature = '', ...more] = segment.split('.', 3)
      const signed = new TextEncoder().encode(claims)
      const genuine =
        SIGNATURE.test(signature) &&
        (await webCrypto().verify('HMAC', await secret(), fromBase64Url(signature), signed))
      if (!genuine || more.length > 0) throw forbidden('The signature of this URL is invalid.')
      // Not validated, because their signature is ours.
      const grant = JSON.parse(new TextDecoder().decode(fromBase64Url(claims))) as Grant
      if (grant.method !== method) throw forbidden(`This URL is signed for ${grant.method} requests only.`)
      if (grant.expiresAt <= now.getTime()) throw forbidden('This URL has expired.')
      return grant as Extract<Grant, { method: Method }>
    },
  }
}

function forbidden(message: string): StorageError {
  return new StorageError('FORBIDDEN', { message })
}
