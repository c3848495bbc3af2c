import { StorageError } from '../../core/errors.js'
import { essenceOf } from '../../core/http/media-type.js'
import type { StoredBytes } from '../../core/object-storage.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'
import { incomplete, mismatch } from './errors.js'
import type { ServerDependencies } from '../dependencies.js'
import { removeBytes } from '../objects.js'
import { type SignalSource, bytesOf } from '../storage.js'

/** How long to wait before each further look for bytes that the bucket has taken, in milliseconds. */
const LOOKS_AGAIN = [250, 500, 1000, 2000]

/**
 * Confirms an attempt if the stored bytes match its upload request; if others are stored, ends it. Only `stop` ends this early: the
 * upload is finished. If the bucket has taken the bytes, waits for them, because some buckets show new ones late.
 */
export async function confirmUpload(
  dependencies: ServerDependencies,
  row: StorageObject,
  context: ErrorContext,
  isTaken = false,
  stop?: SignalSource,
): Promise<StorageObject> {
  const { storage, records } = dependencies
  const { bucket, key, id, scope } = row
  let stored = await storage.head(bytesOf(row, stop))
  if (stored === null && isTaken) stored = await lookAgain(dependencies, row, stop)
  if (stored === null && !isTaken) await endDropped(dependencies, row)
  if (stored === null) throw incomplete(row, dependencies.now(), 'Nothing has been uploaded yet.')
  if (matchesRequest(row, stored)) {
    const { size, eTag } = stored
    return records.confirm({ bucket, key, id, scope, size, eTag }, context.request)
  }

  if (stored.attemptId === null && stored.contentType !== null) {
    dependencies.report(new Error(foreignBytes(row, stored)), context)
  }
  // The row goes first. Once the attempt has ended it can no longer be confirmed, so its bytes can't be in use.
  const ended = await records.objects.release({ bucket, key, id, scope })
  if (ended) await removeBytes(dependencies, ended, context)
  throw mismatch('The uploaded bytes do not match the upload request. Start a new upload.')
}

/** Describes bytes without the attempt that every upload URL signs. */
function foreignBytes({ id, bucket }: StorageObject, { size, contentType }: StoredBytes): string {
  return (
    `The bucket ${JSON.stringify(bucket)} describes the bytes of upload ${id} without the id of an attempt (${size} bytes, ` +
    `${shown(contentType)}). Its endpoint may not be that of the S3 service, or a proxy removes x-amz-meta- headers.`
  )
}

/** Waits for bytes that some buckets show late, while the attempt is pending. Returns `null` if there still are none. */
async function lookAgain(
  { storage, records }: ServerDependencies,
  row: StorageObject,
  stop?: SignalSource,
): Promise<StoredBytes | null> {
  const { bucket, key, id, scope } = row
  for (const wait of LOOKS_AGAIN) {
    if (!(await records.objects.findPending({ bucket, key, id, scope }))) return null
    await new Promise((resolve) => setTimeout(resolve, wait))
    const stored = await storage.head(bytesOf(row, stop))
    if (stored !== null) return stored
  }
  return null
}

/**
 * Ends a pending attempt whose upload in parts the bucket has dropped, for example by a lifecycle rule. Otherwise, it would reserve quota
 * for bytes that can't arrive.
 * @throws StorageError `OBJECT_NOT_FOUND` (`ended`) if this call has ended it.
 */
export async function endDropped(dependencies: ServerDependencies, row: StorageObject): Promise<void> {
  const { storage, records } = dependencies
  const { bucket, key, id, scope, uploadId } = row
  if (uploadId === null || !storage.multipart) return
  if ((await storage.multipart.listParts({ ...bytesOf(row), uploadId, after: 0 })) !== null) return
  // A completed upload is unknown to the bucket as well.
  if ((await storage.head(bytesOf(row))) ?? (await lookAgain(dependencies, row))) return
  if (!(await records.objects.release({ bucket, key, id, scope }))) return
  throw new StorageError('OBJECT_NOT_FOUND', {
    message: 'The bucket no longer has this upload, so it has ended. Start a new one.',
    params: { ended: true },
  })
}

/** Returns whether an attempt wrote these bytes. Services spell parameters of a type differently. An encoding changes the bytes. */
export function matchesRequest(attempt: StorageObject, stored: StoredBytes): boolean {
  return (
    stored.size === attempt.declaredSize &&
    (attempt.contentType === null ||
      essenceOf(stored.contentType ?? '') === essenceOf(attempt.contentType)) &&
    !stored.contentEncoding &&
    stored.attemptId === attempt.id
  )
}
