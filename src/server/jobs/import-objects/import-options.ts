import type { ListedBytes } from '../../../core/object-storage.js'
import type { ObjectMetadata } from '../../../core/store/records.js'
import { shown } from '../../../core/store/validation/checks.js'
import { OptionChecks, type JobFailure, type JobOptions } from '../job.js'

/** Bytes in the bucket, as the listing describes them. */
export interface ImportedItem extends ListedBytes {
  readonly bucket: string
}

/** How bytes are recorded: the fields of the new object. */
export interface ImportSelection {
  /** The owner, 1 to 255 characters. */
  readonly scope: string
  /** 1 to 1024 bytes of UTF-8. Default: the key of the bytes. */
  readonly key?: string | null | undefined
  /** 1 to 255 characters. Default `null`. */
  readonly route?: string | null | undefined
  /** 1 to 1024 characters. Default `null`. */
  readonly filename?: string | null | undefined
  /** 1 to 255 characters. Default `null`. */
  readonly contentType?: string | null | undefined
  readonly metadata?: ObjectMetadata | null | undefined
}

/** Decides how bytes are recorded. `null` skips them. */
export type SelectImport = (item: ImportedItem) => ImportSelection | null | Promise<ImportSelection | null>

export interface ImportObjectsOptions extends JobOptions {
  /** Default: the bucket of the server. */
  readonly bucket?: string | null | undefined
  /** Only keys that start with this text, 1 to 1024 bytes of UTF-8. Default: all keys. */
  readonly prefix?: string | null | undefined
  /** Only keys after this one, in byte order. It need not exist. Default: from the start. */
  readonly after?: string | null | undefined
  /** Called for each item, `concurrency` at a time. If it throws, the item has failed. */
  readonly select: SelectImport
  /** How many items are in work at once, 1 to 1000. Default 16. */
  readonly concurrency?: number | null | undefined
  /** Whether to change nothing and only report what a run would do. Default `false`. */
  readonly dryRun?: boolean | null | undefined
}

export interface ImportObjectsResult {
  /** The number of items that were recorded. In a dry run, the number that would be. */
  readonly imported: number
  /** The number of items whose bytes an object, an upload or a leftover names already. */
  readonly known: number
  /** The number of items for which `select` returned `null`. */
  readonly skipped: number
  /** The first 1000 failures. `onError` gets all of them. */
  readonly failed: readonly JobFailure[]
  /** The last key up to which every item is done, `after` of a later run. `null` if there was none. */
  readonly after: string | null
}

export const JOB = 'importObjects'

const checks = new OptionChecks(JOB)
const DEFAULT_CONCURRENCY = 16
const MAX_CONCURRENCY = 1000

/** The checked options of a run, with their defaults. */
export interface CheckedOptions {
  readonly bucket: string
  readonly prefix: string | null
  readonly after: string | null
  readonly select: SelectImport
  readonly concurrency: number
  readonly dryRun: boolean
  readonly signal: AbortSignal | null
  readonly onProgress: JobOptions['onProgress']
}

/** @throws TypeError that names the option, its value and what is allowed. */
export function checkOptions(options: ImportObjectsOptions, serverBucket: string): CheckedOptions {
  checks.options(options)
  const select = checks.function('select', options.select)
  if (!select) throw checks.error(`select must be a function (got ${shown(options.select)}).`)
  return {
    bucket: checks.text('bucket', options.bucket, 'bucket') ?? serverBucket,
    prefix: checks.text('prefix', options.prefix, 'key'),
    after: checks.text('after', options.after, 'key'),
    select,
    concurrency: checks.integer('concurrency', options.concurrency, MAX_CONCURRENCY, DEFAULT_CONCURRENCY),
    dryRun: checks.boolean('dryRun', options.dryRun) ?? false,
    signal: checks.signal(options.signal),
    onProgress: checks.function('onProgress', options.onProgress),
  }
}
