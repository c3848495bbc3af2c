import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { keyId } from '../../core/names.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import type { Quota, StorageObject } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'
import type { S3ServerCore } from '../create-s3-server.js'
import { ItemRun } from './item-run.js'
import {
  dependenciesOfRun,
  JOB_OPTIONS,
  type JobContext,
  type JobFailure,
  type JobOptions,
  type WithFailures,
} from './job.js'
import { PAGE_SIZE, pagesOf, rowsOfScope } from './pages.js'

export interface TransferScopeOptions extends JobOptions {
  /** The owner. */
  readonly from: string
  /** The new owner. */
  readonly to: string
  /** Limits the growth of `to`. Default: unlimited, whatever the quota of `db()` is. */
  readonly quota?: Quota | null | undefined
}

export interface TransferScopeResult {
  /** The number of objects that `to` got. */
  readonly transferred: number
  /** The first 1000 failures. These objects are still those of `from`. */
  readonly failed: readonly JobFailure[]
}

const JOB = 'transferScope'
const CONCURRENCY = 8

const OPTIONS = namesOf<TransferScopeOptions>({ ...JOB_OPTIONS, from: true, to: true, quota: true })
const checks = new OptionChecks(JOB)

/**
 * Gives all active objects of an owner to another one, in every bucket. Safe beside any traffic. A run that was stopped, or in
 * which objects failed, can be repeated: it continues with what `from` still has.
 *
 * Hooks are not called; events are recorded and delivered. Download URLs stay valid until they expire. A replacement in progress
 * ends, while an upload of a new key stays with `from`. Objects confirmed during the run may stay with `from` as well: run it
 * again. An upload that waits for its check keeps its key with `from`, and is in `failed` (`KEY_CONFLICT`): run it again after the
 * verdict.
 *
 * An object that fails, such as with `QUOTA_EXCEEDED`, is listed in `failed` and reported to `onError`, and the run continues.
 * Rejects with `DATABASE_UNAVAILABLE` if the objects can't be listed.
 *
 * @throws TypeError if `s3` was not created by `createS3Server`, if an option is invalid, or if both scopes are the same.
 *
 * @example
 * import { transferScope } from '@svc/db'
 *
 * const { transferred, failed } = await transferScope(s3, { from: 'user:ann', to: 'org:acme' })
 */
export async function transferScope(
  s3: S3ServerCore,
  options: TransferScopeOptions,
): Promise<TransferScopeResult> {
  const { failures: _, ...result } = await runTransfer(dependenciesOfRun(s3, JOB), options)
  return result
}

/** `transferScope` for callers without a server. */
export async function runTransfer(
  { records, events, report }: Omit<JobContext, 'storage' | 'now'>,
  options: TransferScopeOptions,
): Promise<WithFailures<TransferScopeResult>> {
  checks.options(options, OPTIONS)
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)
  const from = checks.text('from', options.from, 'scope')
  const to = checks.text('to', options.to, 'scope')
  // Such a transfer does nothing, and callers may erase `from` next.
  if (from === to) throw checks.error(`to must be another scope than from (got ${shown(to)}).`)
  const quota = checks.quota('quota', options.quota)

  const { files: total, reservedFiles } = await records.objects.getScopeUsage(from)
  const run = new ItemRun({ operation: JOB, report, concurrency: CONCURRENCY, signal, onProgress, total })
  const { objects } = records
  let transferred = 0
  /** Keys that have failed, possibly because of an upload that waits for its check. */
  const failed = new Set<string>()

  async function transfer({ bucket, key }: StorageObject): Promise<void> {
    // Without `attemptId`: an upload that was confirmed since the list was read belongs to `from` as well.
    const object = await objects.transfer({ bucket, key, from, to, quota })
    if (!object) return
    transferred++
    events?.changed(object)
  }

  await run.process(rowsOfScope(objects, from, 'active'), transfer, (row, { status }) => {
    if (status === 'rejected') failed.add(keyId(row))
  })
  // Those that would replace an object have failed with it.
  if (reservedFiles > 0) await run.process(withoutKeys(arrivedOf(objects, from), failed), transfer)
  return { transferred, failed: run.failed, failures: run.failures }
}

function arrivedOf(objects: StorageObjectStore, scope: string) {
  return pagesOf<StorageObject>((after) => objects.listArrived({ scope, after, limit: PAGE_SIZE }))
}

async function* withoutKeys(
  pages: AsyncIterable<readonly StorageObject[]>,
  keys: ReadonlySet<string>,
): AsyncGenerator<readonly StorageObject[], void> {
  for await (const page of pages) yield page.filter((row) => !keys.has(keyId(row)))
}
