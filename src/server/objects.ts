import type { RecordKeeper } from '../core/plugin.js'
import type { ErrorContext } from '../core/reporter.js'
import type { RemoveInput } from '../core/store/contract.js'
import type { ObjectReference, StorageObject } from '../core/store/records.js'
import type { ServerDependencies } from './dependencies.js'
import { bytesOf } from './storage.js'
import { uploadURLEnd } from './url-terms.js'

/** Returns the active object of this owner at a key, or `null`. A key can be another owner's. */
export async function findOwnActive(
  { objects }: Pick<RecordKeeper, 'objects'>,
  { bucket, key }: ObjectReference,
  scope: string,
): Promise<StorageObject | null> {
  const active = await objects.findActive({ bucket, key, scope })
  return active?.scope === scope ? active : null
}

/** Returns the attempt of this owner at a key whose bytes wait for their check, or `null`. */
export async function findOwnArrived(
  { objects }: Pick<RecordKeeper, 'objects'>,
  { bucket, key }: ObjectReference,
  scope: string,
): Promise<StorageObject | null> {
  const pending = await objects.findPending({ bucket, key, scope })
  return pending?.scope === scope && pending.arrivedAt !== null ? pending : null
}

/** Removes the object or pending upload at a key: first the row, then its bytes. Returns the removed row, or `null`. */
export async function removeObject(
  dependencies: ServerDependencies,
  input: RemoveInput,
  context: ErrorContext,
): Promise<StorageObject | null> {
  const removed = await dependencies.records.remove(input, context.request)
  if (removed) await removeBytes(dependencies, removed, context)
  return removed
}

/** Removes the bytes of a deleted record, unless they are the application's. Reports a failure: `cleanUp` retries the leftover. */
export async function removeBytes(
  {
    storage,
    report,
    uploadSeconds,
    now,
  }: Pick<ServerDependencies, 'storage' | 'report' | 'uploadSeconds' | 'now'>,
  row: StorageObject,
  context: ErrorContext,
): Promise<void> {
  if (row.storageKey === null) return
  // Only an object that was active, or has arrived, can have a download URL.
  const writableUntil = (row.confirmedAt ?? row.arrivedAt) && uploadURLEnd(row, uploadSeconds, now())
  try {
    await storage.remove({ ...bytesOf(row), writableUntil, eTag: row.eTag })
  } catch (error) {
    report(error, context)
  }
}

/** Aborts the multipart upload of an ended attempt, if it has one. Like {@link removeBytes}, it never rejects. */
export async function abortMultipartUpload(
  { storage, report }: ServerDependencies,
  row: StorageObject,
  context: ErrorContext,
): Promise<void> {
  const { uploadId } = row
  if (uploadId === null) return
  try {
    await storage.multipart?.abort({ ...bytesOf(row), uploadId })
  } catch (error) {
    report(error, context)
  }
}
