import type { GetObjectCommand, PutObjectCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'

/** A request that is signed here and sent by a browser. */
export interface RequestToSign {
  readonly command: PutObjectCommand | UploadPartCommand | GetObjectCommand
  /** The headers that must be as they are now, in lower case, beside `host`. */
  readonly boundHeaders: readonly string[]
  readonly expiresAt: Date
}

/** The longest life of a signature (V4). */
const LONGEST_LIFE_SECONDS = 7 * 24 * 60 * 60

/**
 * The URL of a request that a browser may send, until `expiresAt` and not a moment longer.
 *
 * @throws RangeError for a life of more than seven days, and for a key that no browser asks for as it is.
 * @throws Error for a client that would sign what a browser doesn't send.
 */
export async function signedUrl(
  client: S3Client,
  { command, boundHeaders, expiresAt }: RequestToSign,
  now: () => Date,
): Promise<string> {
  const { signingDate, expiresIn } = lifeOf(client, expiresAt.getTime() - now().getTime())
  leaveOutChecksums(command)
  // Which of them it is makes no difference to the presigner; its types want to know.
  const url = await getSignedUrl(client, command as PutObjectCommand, {
    signingDate,
    expiresIn,
    // Without these the SDK would leave the type unsigned, and sign the metadata as part of the query.
    signableHeaders: new Set(boundHeaders),
    unhoistableHeaders: new Set(boundHeaders),
  })
  checkSentAsSigned(url, boundHeaders)
  return url
}

/** Signatures count in whole seconds: rounded so that the URL ends no later than it may. */
function lifeOf({ config }: S3Client, milliseconds: number): { signingDate: Date; expiresIn: number } {
  const bucketTime = Date.now() + config.systemClockOffset
  const end = Math.floor((bucketTime + milliseconds) / 1000)
  const expiresIn = Math.max(1, end - Math.floor(bucketTime / 1000))
  if (!(expiresIn <= LONGEST_LIFE_SECONDS)) {
    throw new RangeError(`a signed URL lives at most ${LONGEST_LIFE_SECONDS} s, not ${expiresIn} s`)
  }
  return { signingDate: new Date((end - expiresIn) * 1000), expiresIn }
}

/** Unless it is told otherwise, the SDK puts the checksum of the body into the URL, and of a body that it hasn't got. */
function leaveOutChecksums(command: RequestToSign['command']): void {
  const { middlewareStack } = command as PutObjectCommand
  middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { readonly headers: Record<string, string> }
      for (const name of Object.keys(headers)) {
        if (/^x-amz-(?:sdk-)?checksum-/i.test(name)) delete headers[name]
      }
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'leaveOutChecksums' },
  )
}

function checkSentAsSigned(url: string, boundHeaders: readonly string[]): void {
  const sent = new URL(url)
  const path = /^[^:]+:\/\/[^/]+([^?]*)/.exec(url)?.[1]
  if (sent.pathname !== path) {
    throw new RangeError('a browser asks for no key with a segment of `.` or `..` as it is')
  }
  const signed = (sent.searchParams.get('X-Amz-SignedHeaders') ?? '').split(';')
  const others = signed.filter((name) => name !== 'host' && !boundHeaders.includes(name))
  const missing = boundHeaders.filter((name) => !signed.includes(name))
  if (others.length > 0 || missing.length > 0) {
    const what = others.length > 0 ? `signs what no browser sends: ${others.join(', ')}` : ''
    throw new Error(what || `doesn't sign ${missing.join(', ')}`)
  }
}
