import {
  S3Client,
  type GetObjectCommand,
  type PutObjectCommand,
  type UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import {
  bindingOf,
  signingTemplate,
  type BuiltRequest,
  type SignableRequest,
  type SigningTemplate,
} from './signing-template.js'
import type { LifetimeOf, SignatureLifetime, UrlPeriod } from './url-lifetime.js'

type Command = PutObjectCommand | UploadPartCommand | GetObjectCommand

/** A request that the server signs and a browser sends. */
export interface RequestToSign extends SignableRequest, UrlPeriod {
  readonly operation: 'PutObject' | 'UploadPart' | 'GetObject'
  readonly bucket: string
  /** Creates the SDK's command for the same request. */
  readonly command: () => Command
}

/**
 * Returns a presigned URL that a browser can request until `expiresAt`.
 *
 * @throws RangeError for a lifetime of more than 7 days, and for a key that a browser would change in the URL.
 * @throws Error if the client signs something that a browser doesn't send.
 */
export type SignUrl = (request: RequestToSign) => Promise<string>

/** How long a template is used, in milliseconds. Then the SDK asks the client again, whose endpoint may change. */
const TEMPLATE_MILLISECONDS = 60_000
/** Bounds the memory of a server with a bucket per tenant. */
const MOST_TEMPLATES = 1000

/** A template, or `null` if only the SDK can sign such requests. */
interface KnownTemplate {
  readonly template: SigningTemplate | null
  /** Of `performance.now()`. */
  readonly until: number
}

/** Creates the function that signs URLs with a client of the SDK. */
export function urlSigner(client: S3Client, lifetimeOf: LifetimeOf): SignUrl {
  const templates = new Map<string, KnownTemplate>()

  return async (request) => {
    const lifetime = lifetimeOf(request)
    const kind = `${request.operation} ${request.bucket}`
    const now = performance.now()
    const known = templates.get(kind)
    const current = known !== undefined && now < known.until ? known : null
    if (current?.template) {
      const url = await current.template.sign(request, lifetime)
      checkPath(url)
      return url
    }
    const { url, built } = await signBySdk(client, request, lifetime)
    checkPath(url)
    checkSignedHeaders(url, request)
    if (current === null) {
      const template = built && hasUsualMiddleware(client) ? signingTemplate(client, built, request) : null
      // A version of the SDK whose signer can't be used in this way goes on signing by itself.
      const isSame = (await template?.sign(request, lifetime).catch(() => null)) === url
      if (templates.size >= MOST_TEMPLATES) templates.clear()
      templates.set(kind, { template: isSame ? template : null, until: now + TEMPLATE_MILLISECONDS })
    }
    return url
  }
}

let usualMiddleware: string | undefined

/** Returns whether the client has only the SDK's own middleware. Another one could change each request in its own way. */
function hasUsualMiddleware({ middlewareStack }: S3Client): boolean {
  usualMiddleware ??= new S3Client({ region: 'us-east-1' }).middlewareStack.identify().join()
  return middlewareStack.identify().join() === usualMiddleware
}

/** Lets the SDK build and sign a request. */
async function signBySdk(
  client: S3Client,
  { command: create, headers }: RequestToSign,
  lifetime: SignatureLifetime,
): Promise<{ readonly url: string; readonly built: BuiltRequest | null }> {
  const command = create()
  removeChecksums(command)
  let built: BuiltRequest | null = null
  const { middlewareStack } = command as PutObjectCommand
  middlewareStack.add(
    (next, context) => (args) => {
      const request = args.request as BuiltRequest['request']
      const [scheme] = context.endpointV2?.properties?.['authSchemes'] ?? []
      built = { request: { ...request, query: { ...request.query } }, scheme }
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'keepBuiltRequest' },
  )
  // The presigner accepts all three commands, but its types need a specific one.
  const url = await getSignedUrl(client, command as PutObjectCommand, {
    ...lifetime,
    ...bindingOf(headers),
  })
  return { url, built }
}

/**
 * Removes the checksum that the SDK adds to a request by default. In a URL it is that of an empty body. S3 refuses it in parts of
 * an upload that was created without one, and some services refuse any.
 */
export function removeChecksums(command: Command): void {
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

function checkPath(url: string): void {
  if (/^[^?]*\/\.\.?(?:[/?]|$)/.test(url)) {
    throw new RangeError('the key must not have a segment "." or "..", because browsers resolve them in URLs')
  }
}

function checkSignedHeaders(url: string, { headers }: RequestToSign): void {
  const signed = (new URL(url).searchParams.get('X-Amz-SignedHeaders') ?? '').split(';')
  const bound = Object.keys(headers)
  const others = signed.filter((name) => name !== 'host' && !bound.includes(name))
  const missing = bound.filter((name) => !signed.includes(name))
  if (others.length > 0 || missing.length > 0) {
    const extra =
      others.length > 0 ? `the client signs headers that browsers do not send: ${others.join(', ')}` : ''
    throw new Error(
      extra ||
        `the client does not sign ${missing.join(', ')}, which needs @aws-sdk/client-s3 3.635 or later`,
    )
  }
}
