import type { S3Client } from '@aws-sdk/client-s3'

export interface S3StorageOptions {
  /** Its credentials stay on this machine. What it should be set to is in docs/s3.md. */
  readonly client: S3Client
  /**
   * The longest that a call to the bucket takes, retries of the client included, in seconds. What takes longer rejects.
   * Default 30.
   */
  readonly timeoutSeconds?: number | null | undefined
  /**
   * The same for the call that makes an object of its parts, which S3 itself may take minutes for, in seconds.
   * Default 300.
   */
  readonly completeTimeoutSeconds?: number | null | undefined
  /**
   * The clock that tells how long a URL still has to live. Default: the system's. (The signature is dated by the clock of
   * the client, which follows that of S3.)
   */
  readonly now?: (() => Date) | null | undefined
}

/** The same, checked and filled in. */
export interface CheckedOptions {
  readonly client: S3Client
  readonly timeoutSeconds: number
  readonly completeTimeoutSeconds: number
  readonly now: () => Date
}

/** What a timer takes; one that is given more goes off at once. */
const LONGEST_TIMEOUT_SECONDS = 2_147_483

/** @throws TypeError which names the wrong one among the options. */
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
    throw new TypeError('s3Storage: client must be an S3Client of @aws-sdk/client-s3.')
  }
  return client as S3Client
}

function checkSeconds(name: string, seconds: unknown): number {
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds <= LONGEST_TIMEOUT_SECONDS)) {
    const allowed = `a number of seconds above 0 and at most ${LONGEST_TIMEOUT_SECONDS}`
    throw new TypeError(`s3Storage: ${name} must be ${allowed}, not ${String(seconds)}.`)
  }
  return seconds
}

function checkClock(now: unknown): () => Date {
  if (typeof now !== 'function')
    throw new TypeError(`s3Storage: now must be a function, not a ${typeof now}.`)
  return now as () => Date
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
