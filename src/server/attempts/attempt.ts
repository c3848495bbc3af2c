import { StorageError } from '../../core/errors.js'
import { essenceOf } from '../../core/http/media-type.js'
import type { StoredBytes } from '../../core/object-storage.js'
import type { ErrorContext } from '../../core/reporter.js'
import { createAttemptId, timeOfAttempt } from '../../core/store/attempt-id.js'
import type { RemoveInput } from '../../core/store/contract.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import type { ObjectMetadata, Quota, StorageObject } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'
import type { RoutePolicy, UploadKeys } from '../routes.js'
import { bytesOf, type SignalSource } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'

/** A validated request to start an upload, with the key that it will have. */
export interface UploadRequest extends UploadKeys {
  readonly route: RoutePolicy
  readonly filename: string | null
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  readonly metadata: ObjectMetadata | null
}

/** How long an upload may continue after its URL has expired, in addition to its transfer time, in seconds. */
export const GRACE_SECONDS = 60 * 60

/** The slowest connection that a reservation allows for, in bytes per second. */
const SLOWEST_CONNECTION = 64 * 1024

/** Returns how long the reservation of a single-PUT upload lasts, in seconds. */
export function uploadReservationSeconds(
  size: number,
  urlSeconds: number,
  pendingTtlSeconds: number,
): number {
  return Math.min(pendingTtlSeconds, urlSeconds + GRACE_SECONDS + Math.ceil(size / SLOWEST_CONNECTION))
}

const EXPIRED = 'The upload has expired. Start a new one.'

/** Returns when a URL that is signed now expires. @throws StorageError `OBJECT_NOT_FOUND` if its reservation has expired. */
export function urlExpiry({ expiresAt }: StorageObject, urlSeconds: number, now: Date): Date {
  if (expiresAt === null || expiresAt <= now) throw notFound(EXPIRED)
  const urlEnd = secondsAfter(now, urlSeconds)
  return urlEnd < expiresAt ? urlEnd : expiresAt
}

export interface ReservationTerms {
  readonly scope: string
  /** Lifetime of the reservation, in seconds. */
  readonly seconds: number
  /** `null`: none. Left out: the quota of the scope. */
  readonly quota?: Quota | null
}

/** How many expired reservations one request may settle to free quota. */
const SETTLED_PER_REQUEST = 100

/** Reserves an upload. If the quota is exceeded, settles expired reservations of the scope and tries once more. */
export async function reserveUpload(
  dependencies: ServerDependencies,
  upload: UploadRequest,
  terms: ReservationTerms,
  context: ErrorContext,
): Promise<StorageObject> {
  const { records, now } = dependencies
  const { route, key, filename, contentType, size, metadata } = upload
  const { scope } = terms
  const quota = terms.quota === undefined ? await records.quotaOf(scope, context.request) : terms.quota
  const id = createAttemptId({ now })
  const reserve = () =>
    records.reserve(
      {
        scope,
        bucket: route.bucket,
        key,
        declaredSize: size,
        expiresAt: secondsAfter(now(), terms.seconds),
        route: route.name,
        filename,
        contentType,
        metadata,
        storageKey: upload.storageKeyOf(id),
        overwrite: route.overwrite,
        quota,
        id,
      },
      context.request,
    )

  try {
    return await reserve()
  } catch (refusal) {
    const code = refusal instanceof StorageError && refusal.code
    if (code === 'KEY_CONFLICT' && !route.overwrite) await refuseOverwrite(dependencies, upload, scope)
    if (code !== 'QUOTA_EXCEEDED' || !(await settleExpired(dependencies, scope, context))) throw refusal
    return reserve()
  }
}

/** @throws StorageError `KEY_CONFLICT` if the scope's own object has the key. Other scopes must not learn what has it. */
async function refuseOverwrite(
  { records }: ServerDependencies,
  { route, key }: UploadRequest,
  scope: string,
): Promise<void> {
  const active = await records.objects.findActive({ bucket: route.bucket, key, scope })
  if (active?.scope !== scope) return
  throw new StorageError('KEY_CONFLICT', {
    message: `You have an object with this key, and the upload route ${shown(route.name)} does not allow overwrite.`,
  })
}

/** Settles expired reservations up to the first failure. Returns whether to reserve again, also if none are left by now. */
async function settleExpired(
  dependencies: ServerDependencies,
  scope: string,
  context: ErrorContext,
): Promise<boolean> {
  const expired = await dependencies.records.objects.listExpired({ scope, limit: SETTLED_PER_REQUEST })
  const known = expired.filter(({ bucket }) => dependencies.buckets.has(bucket))
  let settled = expired.length === 0
  for (const rows of settlementBatches(known)) {
    const results = await Promise.allSettled(
      rows.map((row) => settleReservation(dependencies, row, 'confirm', context.request?.signal)),
    )
    const failures = results.filter((result) => result.status === 'rejected')
    for (const { reason } of failures) dependencies.report(reason, context)
    settled ||= failures.length < results.length
    if (failures.length > 0) break
  }
  return settled
}

/** Runs the step that follows a reservation. If it fails, releases the reservation, which frees its quota at once. */
export async function releaseOnFailure<T>(
  { records, report }: ServerDependencies,
  { bucket, key, id, scope }: StorageObject,
  context: ErrorContext,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    await records.objects
      .release({ bucket, key, id, scope })
      .catch((failure: unknown) => report(failure, context))
    throw error
  }
}

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
function matchesRequest(attempt: StorageObject, stored: StoredBytes): boolean {
  return (
    stored.size === attempt.declaredSize &&
    (attempt.contentType === null ||
      essenceOf(stored.contentType ?? '') === essenceOf(attempt.contentType)) &&
    !stored.contentEncoding &&
    stored.attemptId === attempt.id
  )
}

/** The result for an expired reservation. `gone`: another call has confirmed or released it in the meantime. */
export type SettledReservation = 'confirmed' | 'released' | 'gone'

/** Ends an expired reservation: confirms a finished upload, and otherwise releases it. Changes nothing if the storage fails. */
export async function settleReservation(
  { storage, records }: Pick<ServerDependencies, 'storage' | 'records'>,
  row: StorageObject,
  unconfirmed: 'confirm' | 'discard',
  signal?: AbortSignal,
): Promise<SettledReservation> {
  const { bucket, key, id, scope } = row
  if (unconfirmed === 'confirm') {
    const stored = await storage.head(bytesOf(row, signal && { signal }))
    if (stored && matchesRequest(row, stored)) {
      const { size, eTag } = stored
      return records.confirm({ bucket, key, id, scope, size, eTag }).then(() => 'confirmed', goneIfEnded)
    }
  }
  const released = await records.objects.release({ bucket, key, id, scope })
  return released ? 'released' : 'gone'
}

function goneIfEnded(error: unknown): 'gone' {
  if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return 'gone'
  throw error
}

/** How many items are settled concurrently: enough to hide the storage's latency without adding much load. */
const CONCURRENCY = 8

/** Splits items into batches that may be settled concurrently, in order. */
export function settlementBatches<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / CONCURRENCY)
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * CONCURRENCY, (index + 1) * CONCURRENCY),
  )
}

/** Ends an attempt that is still pending: first the row, then its parts and bytes. Reports failures: `cleanUp` retries. */
export async function endAttempt(
  dependencies: ServerDependencies,
  { bucket, key, id, scope }: StorageObject,
  context: ErrorContext,
): Promise<void> {
  try {
    const ended = await dependencies.records.objects.release({ bucket, key, id, scope })
    if (!ended) return
    await abortMultipartUpload(dependencies, ended, context)
    await removeBytes(dependencies, ended, context)
  } catch (error) {
    dependencies.report(error, context)
  }
}

/**
 * Returns when the upload URL of an attempt has expired, by every clock of the processes. It may be signed later than the attempt
 * begins, by a process whose clock is behind. A clock that was set back can make an id newer than now.
 */
export function uploadURLEnd({ attemptId }: StorageObject, urlSeconds: number, now: Date): Date {
  const begun = new Date(Math.min(timeOfAttempt(attemptId), now.getTime()))
  return secondsAfter(begun, urlSeconds + GRACE_SECONDS)
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
async function removeBytes(
  { storage, report, uploadSeconds, now }: ServerDependencies,
  row: StorageObject,
  context: ErrorContext,
): Promise<void> {
  if (row.storageKey === null) return
  // Only an object that was active can have a download URL.
  const writableUntil = row.confirmedAt && uploadURLEnd(row, uploadSeconds, now())
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

/** Builds the same error for a missing row and for another scope's row. Otherwise, callers could probe for keys. */
export function notFound(message?: string): StorageError {
  return new StorageError('OBJECT_NOT_FOUND', { message })
}

export function attemptNotFound(): StorageError {
  return notFound('The upload does not exist. It may have ended or expired.')
}

export function mismatch(message: string): StorageError {
  return new StorageError('UPLOAD_MISMATCH', { message })
}

/** Builds the error for an attempt whose bytes have not all arrived. After it has expired, they can't. */
export function incomplete(row: StorageObject, now: Date, message: string): StorageError {
  return mismatch(hasExpired(row, now) ? EXPIRED : message)
}

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}
