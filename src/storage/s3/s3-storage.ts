import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { downloadHeaders } from '../../core/http/download-headers.js'
import {
  MAX_PARTS,
  type BytesReference,
  type ObjectStorage,
  type SignDownloadInput,
  type SignedDownload,
  type SignedUpload,
  type SignUploadInput,
} from '../../core/object-storage.js'
import { namesOf } from '../../core/known-names.js'
import { isObject, OptionChecks } from '../../core/option-checks.js'
import { optional, shown } from '../../core/store/validation/checks.js'
import { uploadHeaders as attemptHeaders } from '../headers.js'
import { bucketCalls, MAX_TIMEOUT_SECONDS } from './calls.js'
import { checkClient } from './client-check.js'
import { s3Multipart } from './multipart.js'
import { newObject, s3Objects } from './objects.js'
import { urlSigner } from './signing.js'
import { checkUploadHeaders, type S3UploadHeaders } from './upload-headers.js'
import { s3Verify } from './verify/verify.js'

export type { S3UploadHeaders }

export interface S3StorageOptions {
  /** A client of the AWS SDK v3. Its credentials never leave the server. See docs/s3.md for its settings. */
  readonly client: S3Client
  /**
   * Signs the URLs that browsers use, for buckets that browsers reach at a different address. It is never connected. Default:
   * `client`. See docs/s3.md.
   */
  readonly publicClient?: S3Client | null | undefined
  /**
   * Whether upload URLs and `files.put` refuse to replace an object, with `If-None-Match: *`. Set it to `false` only for services that
   * refuse that header, such as Backblaze B2 and OpenStack Swift: a URL can then write again until it expires. Default `true`.
   */
  readonly createOnly?: boolean | null | undefined
  /**
   * The most parts of an upload that the service takes, from 1 to 10,000. Larger files have larger parts. Default 10,000. OpenStack
   * Swift and Scaleway take 1000.
   */
  readonly maxParts?: number | null | undefined
  /** Headers of every upload and of everything else that the server writes, such as `{ 'x-amz-storage-class': 'STANDARD_IA' }`. */
  readonly uploadHeaders?: S3UploadHeaders | null | undefined
  /** Timeout of a call to the bucket in seconds, including the client's retries. Default 30. Calls that send bytes get more time. */
  readonly timeoutSeconds?: number | null | undefined
  /** Timeout of completing a multipart upload in seconds. S3 can take minutes to assemble the parts. Default 300. */
  readonly completeTimeoutSeconds?: number | null | undefined
  /**
   * How long a body that `read` has opened may be idle, because nothing reads it or the bucket sends nothing, in seconds. Then it
   * ends with an error. Default 60.
   */
  readonly idleSeconds?: number | null | undefined
  /**
   * Returns the name that a recorded bucket has in the service, for files that were moved to another bucket. Called with each
   * call. Default: the recorded name. See docs/moving-a-bucket.md.
   */
  readonly bucketName?: ((bucket: string) => string) | null | undefined
  /**
   * Returns the current time. Determines the remaining lifetime of a URL. Default: the system clock. (The date of a
   * signature comes from the client's clock, which the SDK adjusts to S3's.)
   */
  readonly now?: (() => Date) | null | undefined
}

/**
 * Creates an object storage on S3 or a compatible service, with a client of the AWS SDK v3. It can use every bucket that the
 * client can access.
 *
 * Each call ends within `timeoutSeconds`. If the service refuses a call or can't be reached, the call rejects with an
 * `Error` that names the call and the bucket, and has the SDK's error as its `cause`.
 *
 * @throws TypeError if `client` is not an S3Client of the copy of the SDK that the library uses, a timeout is not a number of seconds, `uploadHeaders` has another
 * header, or another option is invalid.
 *
 * @example
 * import { S3Client } from '@aws-sdk/client-s3'
 * import { s3Storage } from '@svc/db/s3'
 *
 * const storage = s3Storage({ client: new S3Client({ region: 'eu-central-1' }) })
 */
export function s3Storage(options: S3StorageOptions): ObjectStorage {
  const checked = checkOptions(options)
  const { client, publicClient, createOnly, uploadHeaders, bucketName, now } = checked
  const settings = { ...checked, parameters: uploadHeaders.parameters }
  const run = bucketCalls(client, checked)
  const signUrl = urlSigner(publicClient ?? client, now)

  const calls = {
    createOnly,

    async signUpload(input: SignUploadInput): Promise<SignedUpload> {
      const { bucket, key, size, expiresAt } = input
      const headers = { ...attemptHeaders(input, createOnly), ...uploadHeaders.headers }
      const signed = await run('signUpload', input, () =>
        signUrl({
          ...{ operation: 'PutObject', bucket, key, expiresAt, query: {} },
          // Browsers set the length themselves and do not let scripts set it.
          headers: { 'content-length': String(size), ...headers },
          command: () =>
            new PutObjectCommand({
              ...newObject(input, uploadHeaders.parameters),
              ...(createOnly && { IfNoneMatch: '*' }),
              ContentLength: size,
            }),
        }),
      )
      return { method: 'PUT', headers, ...signed }
    },

    signDownload(input: SignDownloadInput): Promise<SignedDownload> {
      const headers = downloadHeaders(input)
      const { bucket, key, expiresAt, signedAt } = input
      const query = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [`response-${name}`, value]),
      )
      return run('signDownload', input, () =>
        signUrl({
          ...{ operation: 'GetObject', bucket, key, expiresAt, signedAt, query, headers: {} },
          command: () =>
            new GetObjectCommand({
              Bucket: bucket,
              Key: key,
              ResponseCacheControl: headers['cache-control'],
              ResponseContentDisposition: headers['content-disposition'],
              ResponseContentType: headers['content-type'],
            }),
        }),
      )
    },

    ...s3Objects(run, settings),

    multipart: s3Multipart(client, run, signUrl, settings),
  }
  const verify = s3Verify(calls, run, { ...checked, hasPublicClient: publicClient !== null })
  const storage: ObjectStorage = { ...calls, verify }
  return bucketName ? withBucketNames(storage, bucketName) : storage
}

type Call = (input: BytesReference) => Promise<unknown>

/** Returns the same calls, which all take an input with a `bucket`, for the names that recorded buckets have in the service. */
function withBucketNames<Calls extends object>(calls: Calls, bucketName: (bucket: string) => string): Calls {
  const named = Object.entries(calls).map(([name, call]: [string, unknown]) => {
    if (isObject(call) && typeof call !== 'function') return [name, withBucketNames(call, bucketName)]
    if (typeof call !== 'function') return [name, call]
    const renamed = async (input: BytesReference): Promise<unknown> => {
      const bucket: unknown = bucketName(input.bucket)
      if (typeof bucket === 'string' && bucket !== '') return (call as Call)({ ...input, bucket })
      throw checks.error(`bucketName must return the name of a bucket (got ${shown(bucket)}).`)
    }
    return [name, renamed]
  })
  return Object.fromEntries(named) as Calls
}

const OPTIONS = namesOf<S3StorageOptions>({
  ...{ client: true, publicClient: true, createOnly: true, maxParts: true, uploadHeaders: true },
  ...{ timeoutSeconds: true, completeTimeoutSeconds: true, idleSeconds: true, bucketName: true, now: true },
})
const checks = new OptionChecks('s3Storage')

/** Validates the options and adds the defaults. @throws TypeError that names the invalid option. */
function checkOptions(options: S3StorageOptions) {
  const given = checks.options(options, OPTIONS)
  const { timeoutSeconds, completeTimeoutSeconds: completeSeconds, idleSeconds } = given
  return {
    client: checkClient(checks, 'client', given.client),
    publicClient: optional(given.publicClient, (value) => checkClient(checks, 'publicClient', value)),
    createOnly: checks.boolean('createOnly', given.createOnly) ?? true,
    maxParts: checks.integer('maxParts', given.maxParts ?? null, 1, MAX_PARTS) ?? MAX_PARTS,
    uploadHeaders: checkUploadHeaders(checks, given.uploadHeaders),
    timeoutSeconds: checks.seconds('timeoutSeconds', timeoutSeconds, { max: MAX_TIMEOUT_SECONDS }) ?? 30,
    completeTimeoutSeconds:
      checks.seconds('completeTimeoutSeconds', completeSeconds, { max: MAX_TIMEOUT_SECONDS }) ?? 300,
    idleSeconds: checks.seconds('idleSeconds', idleSeconds) ?? 60,
    bucketName: checks.function('bucketName', given.bucketName),
    now: checks.function('now', given.now) ?? (() => new Date()),
  }
}
