import type { S3Client } from '@aws-sdk/client-s3'

export interface S3StorageOptions {
  /** A client of the AWS SDK v3. Its credentials never leave the server. See docs/s3.md for its settings. */
  readonly client: S3Client
  /** Timeout of a call to the bucket in seconds, including the client's retries. Default 30. Calls that send bytes get more time. */
  readonly timeoutSeconds?: number | null | undefined
  /** Timeout of completing a multipart upload in seconds. S3 can take minutes to assemble the parts. Default 300. */
  readonly completeTimeoutSeconds?: number | null | undefined
  /**
   * Returns the current time. Determines the remaining lifetime of a URL. Default: the system clock. (The date of a
   * signature comes from the client's clock, which the SDK adjusts to S3's.)
   */
  readonly now?: (() => Date) | null | undefined
}

/** The validated options with their defaults. */
export interface CheckedOptions {
  readonly client: S3Client
  readonly timeoutSeconds: number
  readonly completeTimeoutSeconds: number
  readonly now: () => Date
}

/** The limit of `setTimeout`, which fires a longer timer immediately. */
const MAX_TIMEOUT_SECONDS = 2_147_483

/** Validates the options. @throws TypeError that names the invalid option. */
export function checkOptions(options: S3StorageOptions): CheckedOptions {
  const given: { readonly [Name in keyof S3StorageOptions]?: unknown } = isObject(options) ? options : {}
  return {
    client: checkClient(given.client),
    timeoutSeconds: checkSeconds('timeoutSeconds', given.timeoutSeconds ?? 30),
    completeTimeoutSeconds: checkSeconds('completeTimeoutSeconds', given.completeTimeoutSeconds ?? 300),
    now: checkClock(given.now ?? (() => new Date())),
  }
}

function checkClient(client: unknown): S3Client {
  const parts = isObject(client) ? (client as Partial<S3Client>) : {}
  if (typeof parts.send !== 'function' || !isObject(parts.config) || !isObject(parts.middlewareStack)) {
    throw new TypeError('s3Storage: client must be an S3Client from @aws-sdk/client-s3.')
  }
  return client as S3Client
}

function checkSeconds(name: string, seconds: unknown): number {
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS)) {
    const given = typeof seconds === 'string' ? JSON.stringify(seconds) : String(seconds)
    throw new TypeError(
      `s3Storage: ${name} must be a number of seconds above 0 and up to ${MAX_TIMEOUT_SECONDS} (got ${given}).`,
    )
  }
  return seconds
}

function checkClock(now: unknown): () => Date {
  if (typeof now !== 'function') throw new TypeError(`s3Storage: now must be a function (got ${typeof now}).`)
  return now as () => Date
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
