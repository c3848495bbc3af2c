import type { ListedBytes } from '../../../core/object-storage.js'
import type { StorageObject } from '../../../core/store/records.js'
import { shown } from '../../../core/store/validation/checks.js'
import { OptionChecks, type JobOptions } from '../job.js'

/** Something that bucket and database disagree about. */
export type StorageDifference = MissingBytes | ChangedBytes | UnrecordedBytes

interface Difference {
  readonly bucket: string
  /** The key of the bytes in the bucket. */
  readonly storageKey: string
}

/** An active object without bytes. */
export interface MissingBytes extends Difference {
  readonly kind: 'missing'
  readonly object: StorageObject
  readonly item?: undefined
}

/** An active object whose bytes have another size or eTag. If either side has no eTag, only the size is compared. */
export interface ChangedBytes extends Difference {
  readonly kind: 'changed'
  readonly object: StorageObject
  readonly item: ListedBytes
}

/** Bytes that no object, upload or leftover names. */
export interface UnrecordedBytes extends Difference {
  readonly kind: 'unrecorded'
  readonly object?: undefined
  readonly item: ListedBytes
}

export interface CheckStorageOptions extends JobOptions {
  /** Default: the bucket of the server. */
  readonly bucket?: string | null | undefined
  /** Only bytes whose key starts with this text, 1 to 1024 bytes of UTF-8. Default: all. */
  readonly prefix?: string | null | undefined
  /** Only keys after this one, in byte order. It need not exist. Default: from the start. */
  readonly after?: string | null | undefined
  /** Only bytes that are older are `unrecorded`. Seconds, 0 to 315,360,000 (ten years). Default 86,400. */
  readonly olderThanSeconds?: number | null | undefined
  /** Called with each difference, one at a time, and awaited. If it throws, the job rejects with its error. */
  readonly onDifference: (difference: StorageDifference) => unknown
}

export interface CheckStorageResult {
  /** The number of objects in the bucket that were compared. */
  readonly items: number
  /** The number of active objects and uploads of the database that were compared. */
  readonly rows: number
  /** The number of differences of each kind. */
  readonly missing: number
  readonly changed: number
  readonly unrecorded: number
  /** The last key that was compared, `after` of a later run. `null` if there was none. */
  readonly after: string | null
}

export const JOB = 'checkStorage'

const DAY = 86_400
const TEN_YEARS = 3650 * DAY

const checks = new OptionChecks(JOB)

/** The checked options of a run, with their defaults. */
export interface CheckedOptions {
  readonly bucket: string
  readonly prefix: string | null
  readonly after: string | null
  readonly olderThanSeconds: number
  readonly onDifference: CheckStorageOptions['onDifference']
  readonly signal: AbortSignal | null
  readonly onProgress: JobOptions['onProgress']
}

/** @throws TypeError that names the option, its value and what is allowed. */
export function checkOptions(options: CheckStorageOptions, serverBucket: string): CheckedOptions {
  checks.options(options)
  const onDifference = checks.function('onDifference', options.onDifference)
  if (!onDifference)
    throw checks.error(`onDifference must be a function (got ${shown(options.onDifference)}).`)
  return {
    bucket: checks.text('bucket', options.bucket, 'bucket') ?? serverBucket,
    prefix: checks.text('prefix', options.prefix, 'key'),
    after: checks.text('after', options.after, 'key'),
    olderThanSeconds: secondsOf(options.olderThanSeconds),
    onDifference,
    signal: checks.signal(options.signal),
    onProgress: checks.function('onProgress', options.onProgress),
  }
}

function secondsOf(value: number | null | undefined): number {
  if (value === undefined || value === null) return DAY
  if (typeof value === 'number' && value >= 0 && value <= TEN_YEARS) return value
  throw checks.error(`olderThanSeconds must be a number from 0 to ${TEN_YEARS} (got ${shown(value)}).`)
}
