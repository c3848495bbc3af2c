import { createHash, randomBytes } from 'node:crypto'
import { createAttemptId } from '@svc/db'
import type { SignedUpload, SignUploadInput } from '@svc/db/adapter'
import { HOUR } from '../../conformance/clock.js'

/** The requests of a browser to signed URLs, and default inputs for signing them. */

export const HELLO = new TextEncoder().encode('hello')

/** Unused: the bucket serves its own URLs. */
const serverURL = 'https://app.example/api/s3/_storage'

export function uploadTo(bucket: string, key = createAttemptId()): SignUploadInput {
  return {
    bucket,
    key,
    size: HELLO.byteLength,
    contentType: 'text/plain',
    attemptId: createAttemptId(),
    expiresAt: inHours(),
    serverURL,
  }
}

export function downloadFrom(bucket: string, key: string) {
  return { bucket, key, filename: 'a.txt', contentType: 'text/plain', expiresAt: inHours(), serverURL }
}

export function partOf(reference: { bucket: string; key: string; uploadId: string }, partNumber = 1) {
  return { ...reference, partNumber, size: HELLO.byteLength, expiresAt: inHours(), serverURL }
}

/** Returns an expiry that a slow machine does not reach. */
export function inHours(): Date {
  return new Date(Date.now() + 2 * HOUR)
}

/** Returns unsigned headers that encrypt the file with a customer key (SSE-C). */
export function customerEncryption(): Readonly<Record<string, string>> {
  const key = randomBytes(32)
  const prefix = 'x-amz-server-side-encryption-customer'
  return {
    [`${prefix}-algorithm`]: 'AES256',
    [`${prefix}-key`]: key.toString('base64'),
    [`${prefix}-key-md5`]: createHash('md5').update(key).digest('base64'),
  }
}

export async function put(
  { url, headers = {} }: Pick<SignedUpload, 'url'> & { readonly headers?: Readonly<Record<string, string>> },
  body: BodyInit | null = HELLO,
): Promise<BucketResponse> {
  return responseOf(await fetch(url, { method: 'PUT', headers, body }))
}

export async function get(url: string): Promise<BucketResponse> {
  return responseOf(await fetch(url))
}

export interface BucketResponse {
  readonly status: number
  /** The S3 error code. */
  readonly code: string | null
  readonly headers: Headers
  readonly body: string
}

async function responseOf(response: Response): Promise<BucketResponse> {
  const body = await response.text()
  const code = response.ok ? null : (/<Code>(\w+)<\/Code>/.exec(body)?.[1] ?? null)
  return { status: response.status, code, headers: response.headers, body }
}
