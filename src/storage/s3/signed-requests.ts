import type { GetObjectCommand, PutObjectCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { LifetimeOf, UrlPeriod } from './url-lifetime.js'

/** A request that the server signs and a browser sends. */
export interface RequestToSign extends UrlPeriod {
  readonly command: PutObjectCommand | UploadPartCommand | GetObjectCommand
  /** The headers to sign in addition to `host`, in lower case. */
  readonly boundHeaders: readonly string[]
}

/**
 * Returns a presigned URL that a browser can request until `expiresAt`.
 *
 * @throws RangeError for a lifetime of more than 7 days, and for a key that a browser would change in the URL.
 * @throws Error if the client signs something that a browser doesn't send.
 */
export async function signedUrl(
  client: S3Client,
  { command, boundHeaders, ...period }: RequestToSign,
  lifetimeOf: LifetimeOf,
): Promise<string> {
  const { signingDate, expiresIn } = lifetimeOf(period)
  removeChecksums(command)
  // The presigner accepts all three commands, but its types need a specific one.
  const url = await getSignedUrl(client, command as PutObjectCommand, {
    signingDate,
    expiresIn,
    // By default, the SDK does not sign the content type, and moves the metadata into the query.
    signableHeaders: new Set(boundHeaders),
    unhoistableHeaders: new Set(boundHeaders),
  })
  checkSentAsSigned(url, boundHeaders)
  return url
}

/**
 * Removes the checksum that the SDK adds to a request by default. In a URL it is that of an empty body. S3 refuses it in parts of
 * an upload that was created without one, and some services refuse any.
 */
export function removeChecksums(command: RequestToSign['command']): void {
  const { middlewareStack } = command as PutObjectCommand
  middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { readonly headers: Record<string, string> }
      for (const name of Object.keys(headers)) {
        if (/^x-amz-(?:sdk-)?checksum-/i.test(name)) delete headers[name]
      }
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'removeChecksums' },
  )
}

function checkSentAsSigned(url: string, boundHeaders: readonly string[]): void {
  const sent = new URL(url)
  const path = /^[^:]+:\/\/[^/]+([^?]*)/.exec(url)?.[1]
  if (sent.pathname !== path) {
    throw new RangeError('the key must not have a segment "." or "..", because browsers resolve them in URLs')
  }
  const signed = (sent.searchParams.get('X-Amz-SignedHeaders') ?? '').split(';')
  const others = signed.filter((name) => name !== 'host' && !boundHeaders.includes(name))
  const missing = boundHeaders.filter((name) => !signed.includes(name))
  if (others.length > 0 || missing.length > 0) {
    const extra =
      others.length > 0 ? `the client signs headers that browsers do not send: ${others.join(', ')}` : ''
    throw new Error(
      extra ||
        `the client does not sign ${missing.join(', ')}, which needs @aws-sdk/client-s3 3.635 or later`,
    )
  }
}
