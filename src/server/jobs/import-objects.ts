import { OptionChecks } from '../../core/option-checks.js'
import { StorageError } from '../../core/errors.js'
import { namesOf } from '../../core/known-names.js'
import { utf8Order } from '../../core/names.js'
import type { ListedBytes } from '../../core/object-storage.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import type { AdoptCommand, ListStoredQuery } from '../../core/store/driver.js'
import { adoptCommand } from '../../core/store/inputs/writes.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import { receivesBytes } from '../../core/store/lifecycle/plans.js'
import type { StorageObject, StoredItem } from '../../core/store/records.js'
import type { S3ServerCore } from '../create-s3-server.js'
import {
  adoptInputOf,
  differs,
  selectionOf,
  type ImportedItem,
  type ImportSelection,
  type SelectImport,
} from './import-selection.js'
import { ItemRun } from './item-run.js'
import {
  BUCKET_JOB_OPTIONS,
  bucketPart,
  concurrencyOption,
  dependenciesOfRun,
  type BucketJobContext,
  type BucketJobOptions,
  type JobFailure,
  type WithFailures,
} from './job.js'
import { bucketPages, listInOrder, PAGE_SIZE, storedPosition } from './pages.js'

export interface ImportObjectsOptions extends BucketJobOptions {
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
  /**
   * The number of items whose object has another value than `select` returned, for at least one field. They are `known`, or
   * `imported` if an object received the bytes, and keep their values.
   */
  readonly differs: number
  /** The number of items for which `select` returned `null`. */
  readonly skipped: number
  /** The first 1000 failures. */
  readonly failed: readonly JobFailure[]
  /** The last key up to which every item is done, `after` of a later run. `null` if there was none. */
  readonly after: string | null
}

const JOB = 'importObjects'
const DEFAULT_CONCURRENCY = 16

const OPTIONS = namesOf<ImportObjectsOptions>({
  ...BUCKET_JOB_OPTIONS,
  ...{ select: true, concurrency: true, dryRun: true },
})
const checks = new OptionChecks(JOB)

/**
 * Records what a bucket holds already as objects, in byte order of the keys. The bucket is only listed. No quota applies, and no
 * hooks are called. Safe beside uploads, `cleanUp` and other imports.
 *
 * If `select` throws or returns something invalid, if another object or upload has the key, or if the key of the bytes has a `.` or
 * `..` segment, the item has failed: `onError` receives the error, and the run continues. Rejects with `STORAGE_UNAVAILABLE` if the
 * bucket can't be listed, and with `DATABASE_UNAVAILABLE` if the database is unavailable, once the items in work are done.
 * `onProgress` has told by then where a later run can go on.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, if an option is invalid, or if the storage has no `list`.
 *
 * @example
 * import { importObjects } from '@svc/db'
 *
 * const { imported, failed } = await importObjects(s3, {
 *   prefix: 'users/',
 *   select: ({ key }) => ({ scope: `user:${key.split('/')[1]}` }),
 * })
 */
export async function importObjects(
  s3: S3ServerCore,
  options: ImportObjectsOptions,
): Promise<ImportObjectsResult> {
  const { failures: _, ...result } = await runImport(dependenciesOfRun(s3, JOB), options)
  return result
}

/** An item with what names its bytes in the database. */
interface Candidate extends ImportedItem {
  readonly stored: readonly StoredItem[]
  /** Whether `stored` has the metadata of objects. */
  readonly hasMetadata: boolean
}

/** `importObjects` for callers without a server. */
export async function runImport(
  context: BucketJobContext,
  options: ImportObjectsOptions,
): Promise<WithFailures<ImportObjectsResult>> {
  checks.options(options, OPTIONS)
  const select = checks.requiredFunction('select', options.select)
  const { bucket, prefix, after } = bucketPart(checks, options, context.bucket)
  const concurrency = concurrencyOption(checks, 'concurrency', options.concurrency, DEFAULT_CONCURRENCY)
  const dryRun = checks.boolean('dryRun', options.dryRun) ?? false
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)
  const { storage, records, report } = context
  const list = listInOrder(checks, storage)

  // Read only if it is compared: it can be much longer than all other fields.
  let withMetadata = false
  const counts = { imported: 0, known: 0, differs: 0, skipped: 0 }
  const pages = bucketPages<readonly Candidate[]>({
    list,
    bucket,
    prefix,
    after,
    signal,
    async prepare(items, start) {
      const hasMetadata = withMetadata
      const range = { bucket, prefix, after: start, withMetadata }
      const stored = await findStored(records.objects, items, range)
      return items.map((item) => ({ bucket, ...item, stored: stored.get(item.key) ?? [], hasMetadata }))
    },
  })
  const run = new ItemRun({ operation: JOB, report, concurrency, signal, onProgress }, after)
  await run.process(
    pages,
    async (candidate) => {
      const { stored: _, hasMetadata: __, ...item } = candidate
      const selection = await selectionOf(select, item).catch((error: unknown) => {
        // Not a rejection: whatever `select` throws concerns this item only, also if it uses the same database.
        run.fail(item, error)
        return undefined
      })
      if (selection === undefined) return
      if (selection === null) {
        counts.skipped++
        return
      }
      withMetadata ||= selection.metadata != null
      const { outcome, isDifferent } = await importItem(context, dryRun, candidate, selection)
      counts[outcome]++
      if (isDifferent) counts.differs++
    },
    ({ key }) => (run.after = key),
  )
  return { ...counts, failed: run.failed, failures: run.failures, after: run.after }
}

/** Looks up what names the bytes of a page, with one call for up to 1000 names in its range. */
async function findStored(
  objects: StorageObjectStore,
  items: readonly ListedBytes[],
  range: Omit<ListStoredQuery, 'limit'>,
): Promise<ReadonlyMap<string, readonly StoredItem[]>> {
  const wanted = new Set(items.map(({ key }) => key))
  const found = new Map<string, StoredItem[]>()
  const last = items.at(-1)?.key
  let after = storedPosition(range.after)
  while (last !== undefined) {
    const page = await objects.listStored({ ...range, after, limit: PAGE_SIZE })
    for (const item of page) {
      const { storageKey } = item
      if (wanted.has(storageKey)) found.set(storageKey, [...(found.get(storageKey) ?? []), item])
    }
    const end = page.at(-1)?.storageKey
    if (page.length < PAGE_SIZE || end === undefined || utf8Order(end) >= utf8Order(last)) break
    after = end
  }
  return found
}

interface Imported {
  readonly outcome: 'imported' | 'known'
  /** Whether the object that names the bytes has another value than `select` returned. */
  readonly isDifferent: boolean
}

async function importItem(
  { records: { objects }, events, now }: BucketJobContext,
  dryRun: boolean,
  { stored, hasMetadata, ...item }: Candidate,
  selection: ImportSelection,
): Promise<Imported> {
  const input = adoptInputOf(item, selection)
  // Known items don't reach the store, and a dry run adopts none, so what the store would refuse is refused here.
  const command = adoptCommand(input, now())
  const result = (outcome: Imported['outcome'], object: StorageObject | null = null): Imported => ({
    outcome,
    isDifferent: object !== null && differs(object, command, selection),
  })
  const comparable = async (object: StorageObject | undefined) => {
    if (!object || hasMetadata || selection.metadata == null) return object ?? null
    // Another version may have replaced the object, which is then compared.
    return objects.findById({ id: object.id })
  }

  const known = stored.filter(({ object }) => !object || !receivesBytes(object, command))
  if (known.length > 0) return result('known', await comparable(known.find(({ object }) => object)?.object))
  if (dryRun) return result('imported', await receivingObject(objects, command))
  const adopted = await objects.adopt(input)
  if (adopted.known) return result('known', adopted.object)
  const { scope, bucket, key } = command
  events?.changed({ scope, bucket, key })
  return result('imported', adopted.object)
}

/** Returns the object that would receive the bytes, or `null` for a new one. Rejects as `adopt` would if something else had the key. */
async function receivingObject(
  objects: StorageObjectStore,
  command: AdoptCommand,
): Promise<StorageObject | null> {
  const { bucket, key, now } = command
  const active = await objects.findActive({ bucket, key })
  const pending = await objects.findPending({ bucket, key })
  const isTaken = active !== null && !receivesBytes(active, command)
  if (isTaken || (pending !== null && !hasExpired(pending, now))) throw new StorageError('KEY_CONFLICT')
  return active
}
