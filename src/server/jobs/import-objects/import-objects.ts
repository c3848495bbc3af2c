import { StorageError } from '../../../core/errors.js'
import type { AdoptInput, StorageObjectStore } from '../../../core/store/contract.js'
import type { AdoptCommand } from '../../../core/store/driver.js'
import { adoptCommand } from '../../../core/store/inputs/objects.js'
import { hasExpired } from '../../../core/store/lifecycle/change.js'
import { receivesBytes } from '../../../core/store/lifecycle/object.js'
import type { S3ServerCore } from '../../create-s3-server.js'
import { dependenciesOf, type ServerDependencies } from '../../server-dependencies.js'
import { bucketPages } from '../bucket-pages.js'
import { ItemRun } from '../item-run.js'
import {
  checkOptions,
  JOB,
  type ImportedItem,
  type ImportObjectsOptions,
  type ImportObjectsResult,
  type ImportSelection,
} from './import-options.js'
import { findKnownNames, type KnownNames } from './known-names.js'
import { selectionOf } from './selection.js'

/** An item with what the database said about its page. */
interface Candidate extends ImportedItem {
  readonly names: KnownNames
}

type Outcome = 'imported' | 'known' | 'skipped'

/**
 * Records what a bucket holds already as objects, in byte order of the keys. The bucket is only listed. Each item is recorded with
 * its `lastModified` as `createdAt`, without a quota and without calling hooks. Safe beside uploads, `cleanUp` and other imports.
 *
 * If `select` throws or returns something invalid, or if another object or upload has the key, the item has failed: `onError`
 * receives the error, and the run continues. Rejects with `STORAGE_UNAVAILABLE` if the bucket can't be listed, and with
 * `DATABASE_UNAVAILABLE` if the database is unavailable, once the items in work are done. `onProgress` has told by then where a
 * later run can go on.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, if an option is invalid, or if the storage has no `list`.
 */
export async function importObjects(
  s3: S3ServerCore,
  options: ImportObjectsOptions,
): Promise<ImportObjectsResult> {
  const dependencies = dependenciesOf(s3, JOB)
  const checked = checkOptions(options, dependencies.bucket)
  const { storage, report, records } = dependencies
  const list = storage.list?.bind(storage)
  if (!list) throw new TypeError(`${JOB}: the storage must implement list().`)
  const { bucket, prefix, after, select, concurrency, dryRun, signal, onProgress } = checked

  const counts: Record<Outcome, number> = { imported: 0, known: 0, skipped: 0 }
  const pages = bucketPages<readonly Candidate[]>({
    list,
    bucket,
    prefix,
    after,
    signal,
    async prepare(items, start) {
      const names = await findKnownNames(records.objects, items, { bucket, prefix, after: start })
      return items.map((item) => ({ bucket, ...item, names }))
    },
  })
  const run = new ItemRun({ operation: JOB, report, concurrency, signal, onProgress }, after)
  await run.process(
    pages,
    async (candidate) => {
      const { names: _, ...item } = candidate
      const selection = await selectionOf(select, item).catch((error: unknown) => {
        // Not a rejection: whatever `select` throws concerns this item only, also if it uses the same database.
        run.fail(item, error)
        return undefined
      })
      if (selection === undefined) return
      counts[selection === null ? 'skipped' : await importItem(dependencies, dryRun, candidate, selection)]++
    },
    ({ key }) => key,
  )
  return { ...counts, failed: run.failed, after: run.after }
}

async function importItem(
  { records: { objects }, events, now }: ServerDependencies,
  dryRun: boolean,
  { names, ...item }: Candidate,
  selection: ImportSelection,
): Promise<Outcome> {
  const { bucket, key: storageKey, size, eTag, lastModified } = item
  const key = selection.key ?? storageKey
  const input: AdoptInput = { ...selection, bucket, key, storageKey, size, eTag, createdAt: lastModified }
  // Known items don't reach the store, and a dry run adopts none, so what the store would refuse is refused here.
  const command = adoptCommand(input, now())
  if (names.isKnown(storageKey, command)) return 'known'
  if (dryRun) {
    await refuseConflict(objects, command)
    return 'imported'
  }
  const { known } = await objects.adopt(input)
  if (known) return 'known'
  events?.changed({ bucket, key })
  return 'imported'
}

/** Rejects as `adopt` would if something else had the key. */
async function refuseConflict(objects: StorageObjectStore, command: AdoptCommand): Promise<void> {
  const { bucket, key, now } = command
  const active = await objects.findActive({ bucket, key })
  const pending = await objects.findPending({ bucket, key })
  const isTaken = active !== null && !receivesBytes(active, command)
  if (isTaken || (pending !== null && !hasExpired(pending, now))) throw new StorageError('KEY_CONFLICT')
}
