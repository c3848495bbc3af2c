import { StorageError } from '../../core/errors.js'
import type { OptionChecks } from '../../core/option-checks.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { Report } from '../../core/reporter.js'
import type { Leftover, StorageObject } from '../../core/store/records.js'
import { dependenciesOf, type ServerDependencies } from '../dependencies.js'
import type { EventRunner } from '../events/runner.js'
import { reportOnce } from './report-once.js'

/** What a job works with. A server has one, and the command line makes its own. */
export interface JobContext extends Pick<ServerDependencies, 'storage' | 'report' | 'now'> {
  /** The buckets whose bytes the storage has. `null`: all. */
  readonly buckets: ReadonlySet<string> | null
  readonly records: Pick<RecordKeeper, 'objects' | 'remove'>
  /** Delivers the events of changed objects. */
  readonly events: Pick<EventRunner, 'changed'> | null
}

/**
 * Returns the dependencies for one run of a job, which reports failures that are alike once.
 * @throws TypeError unless `createS3Server` created the server.
 */
export function dependenciesOfRun(server: object, job: string): ServerDependencies {
  const dependencies = dependenciesOf(server, job)
  return { ...dependencies, report: reportOnce(dependencies.report) }
}

/** What a job works with that lists a bucket: by default this one. */
export interface BucketJobContext extends JobContext {
  readonly bucket: string
}

/** The options that every job has. */
export interface JobOptions {
  /** Ends the job. What is in progress is completed first. */
  readonly signal?: AbortSignal | null | undefined
  /** Called after each item. */
  readonly onProgress?: ((progress: JobProgress) => unknown) | null | undefined
}

/** The names of the options that every job has. */
export const JOB_OPTIONS = { signal: true, onProgress: true } as const satisfies Record<
  keyof JobOptions,
  true
>

/** The options of a job that lists a bucket. */
export interface BucketJobOptions extends JobOptions {
  /** Default: the bucket of the server. */
  readonly bucket?: string | null | undefined
  /** Only keys that start with this text, 1 to 1024 bytes of UTF-8. Default: all keys. */
  readonly prefix?: string | null | undefined
  /** Only keys after this one, in byte order. It need not exist. Default: from the start. */
  readonly after?: string | null | undefined
}

export const BUCKET_JOB_OPTIONS = {
  ...JOB_OPTIONS,
  ...{ bucket: true, prefix: true, after: true },
} as const satisfies Record<keyof BucketJobOptions, true>

/** How far a job has come. */
export interface JobProgress {
  /** The number of items that are done, failed ones included. */
  readonly done: number
  /** The number of all items, if it is known. */
  readonly total?: number
  /** Where a later run can go on, if the job has an order. */
  readonly after?: string
}

/** An item that failed. `error` is what was thrown. */
export interface JobFailure {
  readonly bucket: string
  readonly key: string
  readonly error: unknown
}

/** What the command line prints as well: the number of all failures. */
export type WithFailures<Result> = Result & { readonly failures: number }

/** The most failures that the result of a job lists. */
export const MAX_FAILURES = 1000

/** Returns an error for a bucket that the server doesn't know: another storage may have its bytes, which this one would miss. */
export function unknownBucket({ buckets }: Pick<JobContext, 'buckets'>, bucket: string): StorageError | null {
  if (!buckets || buckets.has(bucket)) return null
  const message = `buckets must include ${JSON.stringify(bucket)} if the storage of this server has its files.`
  return new StorageError('VALIDATION_ERROR', { message, params: { field: 'buckets', bucket } })
}

/** @throws StorageError if a row has bytes of an upload in a bucket that the server doesn't know. */
export function checkBucket(
  context: Pick<JobContext, 'buckets'>,
  { bucket, storageKey, uploadId }: Pick<StorageObject | Leftover, 'bucket' | 'storageKey' | 'uploadId'>,
): void {
  const error = unknownBucket(context, bucket)
  if (error && (storageKey !== null || uploadId !== null)) throw error
}

export const MAX_CONCURRENCY = 1000

/** Returns how many items are in work at once. */
export function concurrencyOption(
  checks: OptionChecks,
  name: string,
  value: number | null | undefined,
  standard: number,
): number {
  return checks.integer(name, value ?? standard, 1, MAX_CONCURRENCY)
}

/** Calls `onProgress`. What it throws is reported. */
export function showProgress(
  onProgress: JobOptions['onProgress'],
  progress: JobProgress,
  report: Report,
  operation: string,
): void {
  try {
    onProgress?.(progress)
  } catch (error) {
    report(error, { operation })
  }
}

/** Checks which part of a bucket a job works on. */
export function bucketPart(
  checks: OptionChecks,
  { bucket, prefix, after }: BucketJobOptions,
  defaultBucket: string,
) {
  const key = (name: string, value: string | null | undefined) =>
    value === undefined || value === null ? null : checks.text(name, value, 'key')
  return {
    bucket: checks.text('bucket', bucket ?? defaultBucket, 'bucket'),
    prefix: key('prefix', prefix),
    after: key('after', after),
  }
}
