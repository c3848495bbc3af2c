import {
  type GetObjectCommand,
  type PutObjectCommand,
  S3Client,
  type UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl, S3RequestPresigner } from '@aws-sdk/s3-request-presigner'
import { refuseDotSegments } from '../../core/dot-segments.js'
import type { SignedDownload } from '../../core/object-storage.js'
import { removeChecksums } from './calls.js'

/*
 * Building the request takes most of the time that the SDK needs for a presigned URL. Doing it each time would be more than half of
 * the processor time of `POST /upload`. So the SDK builds and signs only the first request of a kind to a bucket in each minute. What
 * all of them have in common is kept as a template, and the SDK's signer signs it with the key, the query and the headers of each
 * request.
 */

/** A request that the server signs and a browser sends. */
export interface RequestToSign extends UrlPeriod {
  readonly operation: 'PutObject' | 'UploadPart' | 'GetObject'
  readonly bucket: string
  readonly key: string
  /** The headers to sign in addition to `host`, by names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The parameters of the operation in the URL. */
  readonly query: Readonly<Record<string, string>>
  /** Creates the SDK's command for the same request. */
  readonly command: () => PutObjectCommand | UploadPartCommand | GetObjectCommand
}

/**
 * Returns a presigned URL that ends with `expiresAt` or its credentials. @throws RangeError for more than 7 days. @throws StorageError
 * `VALIDATION_ERROR` for a key that browsers change. @throws Error if the client signs what browsers don't send.
 */
export type SignUrl = (request: RequestToSign) => Promise<SignedDownload>

type Sign = (request: RequestToSign, lifetime: SignatureLifetime) => Promise<string>

/** How long a template is used, in milliseconds. Then the SDK asks the client again, whose endpoint may change. */
const TEMPLATE_MILLISECONDS = 60_000
/** Bounds the memory of a server with a bucket per tenant. */
const MOST_TEMPLATES = 1000

export function urlSigner(client: S3Client, now: () => Date): SignUrl {
  const lifetimeOf = urlLifetimes(client, now)
  /** `sign` is `null` if only the SDK can sign such requests. `until` is a time of `performance.now()`. */
  const templates = new Map<string, { readonly sign: Sign | null; readonly until: number }>()

  async function sign(request: RequestToSign): Promise<string> {
    refuseDotSegments(request.key)
    const lifetime = lifetimeOf(request)
    const kind = `${request.operation} ${request.bucket}`
    const time = performance.now()
    const known = templates.get(kind)
    const current = known !== undefined && time < known.until ? known : null
    if (current?.sign) return current.sign(request, lifetime)
    const { url, built } = await signBySdk(client, request, lifetime)
    checkSignedHeaders(url, request)
    if (current === null) {
      const sign = built && hasUsualMiddleware(client) ? signerByTemplate(client, built, request) : null
      // A version of the SDK whose signer can't be used in this way goes on signing by itself.
      const isSame = (await sign?.(request, lifetime).catch(() => null)) === url
      if (templates.size >= MOST_TEMPLATES) templates.clear()
      templates.set(kind, { sign: isSame ? sign : null, until: time + TEMPLATE_MILLISECONDS })
    }
    return url
  }

  async function credentialsEnd(
    bucket: string,
    options?: { readonly forceRefresh: true },
  ): Promise<Date | null> {
    const expiration = await expirationOf(client, bucket, options)
    return expiration ? new Date(expiration.getTime() - bucketClockAhead(client, now)) : null
  }

  return async (request) => {
    // Before they sign: the SDK may renew them in the meantime, which only makes the URL live longer.
    let end = await credentialsEnd(request.bucket)
    if (end && end <= now()) end = await credentialsEnd(request.bucket, { forceRefresh: true })
    if (end && end <= now()) throw new Error(`the credentials ended at ${end.toISOString()}`)
    const url = await sign(request)
    return end && end < request.expiresAt ? { url, expiresAt: end } : { url }
  }
}

/** The end of the name of a directory bucket (S3 Express One Zone), whose requests are signed by a session of minutes. */
const DIRECTORY_BUCKET = /--x-s3$/

/** Returns when the credentials end that sign requests to a bucket. */
async function expirationOf(
  { config }: S3Client,
  bucket: string,
  options?: { readonly forceRefresh: true },
): Promise<Date | undefined> {
  const credentials = await config.credentials(options)
  if (!DIRECTORY_BUCKET.test(bucket)) return credentials.expiration
  const { disableS3ExpressSessionAuth: disabled } = config
  if (typeof disabled === 'function' ? await disabled() : disabled) return credentials.expiration
  const session = await config.s3ExpressIdentityProvider.getS3ExpressIdentity(credentials, { Bucket: bucket })
  return session.expiration
}

type HttpRequest = Parameters<S3RequestPresigner['presign']>[0]

/** A request as the SDK built it, before it signed it, and how it signs requests to that endpoint. */
interface BuiltRequest {
  readonly request: HttpRequest
  readonly scheme:
    { readonly name: string; readonly signingName?: string; readonly signingRegion?: string } | undefined
}

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
      const request = args.request as HttpRequest
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

/** Returns the options that sign these headers. By default, the SDK leaves out the type and moves metadata into the query. */
function bindingOf(headers: RequestToSign['headers']) {
  const names = Object.keys(headers)
  return { signableHeaders: new Set(names), unhoistableHeaders: new Set(names) }
}

let usualMiddleware: string | undefined

/** Returns whether the client has only the SDK's own middleware. Another one could change each request in its own way. */
function hasUsualMiddleware({ middlewareStack }: S3Client): boolean {
  usualMiddleware ??= new S3Client({ region: 'us-east-1' }).middlewareStack.identify().join()
  return middlewareStack.identify().join() === usualMiddleware
}

/** Signs requests of the kind of the built one. Returns `null` if the path doesn't end with the key, or the scheme isn't V4. */
function signerByTemplate(
  { config }: S3Client,
  { request: built, scheme }: BuiltRequest,
  { key, query }: RequestToSign,
): Sign | null {
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

  return async ({ key, query, headers }, lifetime) => {
    const path = folder + encodedKey(key)
    const request = {
      method,
      protocol,
      hostname,
      path,
      query: { ...common, ...query },
      headers: { ...headers },
    }
    const signed = await signer.presign(port === undefined ? request : { ...request, port }, {
      ...lifetime,
      ...bindingOf(headers),
      signingRegion,
      signingService: signingName,
    })
    const authority = port === undefined ? hostname : `${hostname}:${port}`
    return `${protocol}//${authority}${path}?${queryString(signed.query ?? {})}`
  }
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

function checkSignedHeaders(url: string, { headers }: RequestToSign): void {
  const signed = (new URL(url).searchParams.get('X-Amz-SignedHeaders') ?? '').split(';')
  const others = signed.filter((name) => name !== 'host' && !(name in headers))
  if (others.length > 0) {
    throw new Error(`the client signs headers that browsers do not send: ${others.join(', ')}`)
  }
  const missing = Object.keys(headers).filter((name) => !signed.includes(name))
  if (missing.length > 0) {
    const needed = 'which needs @aws-sdk/client-s3 3.635 or later'
    throw new Error(`the client does not sign ${missing.join(', ')}, ${needed}`)
  }
}

/** When a signed URL starts and ends, in the application's time. */
export interface UrlPeriod {
  /** Default: now. */
  readonly signedAt?: Date | null | undefined
  readonly expiresAt: Date
}

/** The date and lifetime of a signature, in the bucket's time. */
export interface SignatureLifetime {
  readonly signingDate: Date
  /** Seconds. */
  readonly expiresIn: number
}

/** Longest lifetime of a signature (V4), in seconds. */
const MAX_LIFETIME_SECONDS = 7 * 24 * 60 * 60

/** How far a kept difference between two clocks may be off, in milliseconds: what the SDK tolerates, and what rounding adds. */
const TOLERATED_DRIFT_MS = 5 * 60 * 1000 + 1000

/** Returns how far the bucket's clock is ahead of the application's, in milliseconds. */
function bucketClockAhead({ config }: S3Client, now: () => Date): number {
  return Date.now() + config.systemClockOffset - now().getTime()
}

/**
 * Converts periods of the application's clock to signatures in whole seconds. Rounds down, so a URL never outlives `expiresAt`, and
 * equal periods get equal signatures. @throws RangeError for a lifetime of more than 7 days.
 */
export function urlLifetimes(client: S3Client, now: () => Date) {
  let kept: number | null = null

  /** Keeps how far the bucket's clock is ahead, measured in whole seconds. Rounds so that all servers get the same. */
  function steady(measured: number): number {
    if (kept === null || Math.abs(measured - kept) > TOLERATED_DRIFT_MS) {
      kept = Math.round((measured + 499) / 1000) * 1000
    }
    return kept
  }

  return ({ signedAt, expiresAt }: UrlPeriod): SignatureLifetime => {
    const measured = bucketClockAhead(client, now)
    const bucketTime = now().getTime() + measured
    const ahead = signedAt ? steady(measured) : measured
    const start = Math.floor((signedAt ? signedAt.getTime() + ahead : bucketTime) / 1000)
    const end = Math.floor((expiresAt.getTime() + ahead) / 1000)
    const expiresIn = Math.max(1, end - start)
    if (!(expiresIn <= MAX_LIFETIME_SECONDS)) {
      throw new RangeError(
        `the lifetime of a signed URL must be at most ${MAX_LIFETIME_SECONDS} s (got ${expiresIn} s)`,
      )
    }
    return { signingDate: new Date((end - expiresIn) * 1000), expiresIn }
  }
}
