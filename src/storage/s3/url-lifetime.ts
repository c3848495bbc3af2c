import type { S3Client } from '@aws-sdk/client-s3'

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

export type LifetimeOf = (period: UrlPeriod) => SignatureLifetime

/** Longest lifetime of a signature (V4), in seconds. */
const MAX_LIFETIME_SECONDS = 7 * 24 * 60 * 60

/** How far a kept difference between two clocks may be off, in milliseconds: what the SDK tolerates, and what rounding adds. */
const TOLERATED_DRIFT_MS = 5 * 60 * 1000 + 1000

/**
 * Returns the function that converts periods of the application's clock to lifetimes of signatures. Signatures have a
 * resolution of 1 second. Rounds down, so a URL never outlives `expiresAt`. For the same `signedAt` and `expiresAt`, the result is
 * the same, whenever it is computed.
 *
 * @throws RangeError for a lifetime of more than 7 days.
 */
export function urlLifetimes({ config }: S3Client, now: () => Date): LifetimeOf {
  let kept: number | null = null

  /**
   * Keeps how far the bucket's clock is ahead, because each measurement differs a little. The SDK measures it by a header in whole
   * seconds, so equal clocks seem to differ by up to a second. Rounds so that all servers get the same.
   */
  function steady(measured: number): number {
    if (kept === null || Math.abs(measured - kept) > TOLERATED_DRIFT_MS) {
      kept = Math.round((measured + 499) / 1000) * 1000
    }
    return kept
  }

  return ({ signedAt, expiresAt }) => {
    const bucketTime = Date.now() + config.systemClockOffset
    const measured = bucketTime - now().getTime()
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
