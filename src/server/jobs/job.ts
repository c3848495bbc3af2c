import { StorageError } from '../../core/errors.js'
import type { ObjectStorage } from '../../core/object-storage.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { Report } from '../../core/reporter.js'
import { checkText, shown, type TextField } from '../../core/store/validation/checks.js'
import type { EventRunner } from '../events/runner.js'

/** What a job works with. A server has one, and the command line makes its own. */
export interface JobContext {
  /** Rejects only with a `StorageError`. */
  readonly storage: ObjectStorage
  readonly records: Pick<RecordKeeper, 'objects' | 'remove'>
  readonly report: Report
  readonly now: () => Date
  /** Delivers the events of changed objects. */
  readonly events: Pick<EventRunner, 'changed'> | null
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

/** The options of a job that lists a bucket. */
export interface BucketJobOptions extends JobOptions {
  /** Default: the bucket of the server. */
  readonly bucket?: string | null | undefined
  /** Only keys that start with this text, 1 to 1024 bytes of UTF-8. Default: all keys. */
  readonly prefix?: string | null | undefined
  /** Only keys after this one, in byte order. It need not exist. Default: from the start. */
  readonly after?: string | null | undefined
}

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

/** The most failures that the result of a job lists. `onError` gets all of them. */
export const MAX_FAILURES = 1000

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

/** Checks the options of one job. Each check throws a TypeError that names the job, the option and the value. */
export class OptionChecks {
  readonly #job: string

  constructor(job: string) {
    this.#job = job
  }

  error(message: string): TypeError {
    return new TypeError(`${this.#job}: ${message}`)
  }

  /** For callers without types, who may pass no options at all. */
  options(value: object): void {
    if (typeof value !== 'object' || (value as unknown) === null) {
      throw this.error(`the options must be an object (got ${shown(value)}).`)
    }
  }

  /** Checks a text within the limits of `kind`. */
  text(name: string, value: string | null | undefined, kind: TextField): string | null {
    if (value === undefined || value === null) return null
    try {
      return checkText(kind, value, name)
    } catch (error) {
      throw error instanceof StorageError ? this.error(error.message) : error
    }
  }

  /** Checks which part of a bucket a job works on. */
  bucketPart({ bucket, prefix, after }: BucketJobOptions, defaultBucket: string) {
    return {
      bucket: this.text('bucket', bucket ?? defaultBucket, 'bucket')!,
      prefix: this.text('prefix', prefix, 'key'),
      after: this.text('after', after, 'key'),
    }
  }

  boolean(name: string, value: boolean | null | undefined): boolean | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'boolean') return value
    throw this.error(`${name} must be a boolean (got ${shown(value)}).`)
  }

  integer(name: string, value: number | null | undefined, max: number, byDefault: number): number {
    if (value === undefined || value === null) return byDefault
    if (Number.isSafeInteger(value) && value >= 1 && value <= max) return value
    throw this.error(`${name} must be an integer from 1 to ${max} (got ${shown(value)}).`)
  }

  seconds(name: string, value: number | null | undefined, max: number): number | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'number' && value > 0 && value <= max) return value
    throw this.error(`${name} must be a number above 0 and at most ${max} (got ${shown(value)}).`)
  }

  function<T>(name: string, value: T | null | undefined): T | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'function') return value
    throw this.error(`${name} must be a function (got ${shown(value)}).`)
  }

  requiredFunction<T>(name: string, value: T): NonNullable<T> {
    const given = this.function(name, value)
    if (!given) throw this.error(`${name} must be a function (got ${shown(value)}).`)
    return given
  }

  signal(value: AbortSignal | null | undefined): AbortSignal | null {
    if (value === undefined || value === null) return null
    // Not `instanceof`: jsdom and polyfills have classes of their own.
    if (typeof value.aborted === 'boolean' && typeof value.addEventListener === 'function') return value
    throw this.error(`signal must be an AbortSignal (got ${shown(value)}).`)
  }
}
