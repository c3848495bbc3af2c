import { createAttemptId } from '../../core/store/attempt-id.js'
import { StorageError } from '../../core/errors.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { Quota, StorageObject } from '../../core/store/records.js'
import { secondsAfter } from '../lifetimes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import type { UploadRequest } from '../request-input/upload-request.js'
import { settleReservation, settlementBatches } from './settle-reservation.js'

/** How many expired reservations one request may settle to free quota. */
const SETTLED_PER_REQUEST = 100

export interface ReservationTerms {
  readonly scope: string
  /** Lifetime of the reservation, in seconds. */
  readonly seconds: number
  /** `null`: none. Left out: the quota of the scope. */
  readonly quota?: Quota | null
}

/**
 * Reserves an upload and returns the pending row. If the quota is exceeded, settles the expired reservations of the scope
 * and tries once more.
 * @throws StorageError `KEY_CONFLICT` or `QUOTA_EXCEEDED`.
 */
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
    const quotaExceeded = refusal instanceof StorageError && refusal.code === 'QUOTA_EXCEEDED'
    if (!quotaExceeded || !(await settleExpired(dependencies, scope, context))) throw refusal
    return reserve()
  }
}

/**
 * Settles expired reservations of a scope, oldest first, up to the first failure. Returns `false` if it settled none of
 * them. Returns `true` if there are none (any more): a concurrent request may have settled them since the refusal.
 */
async function settleExpired(
  dependencies: ServerDependencies,
  scope: string,
  context: ErrorContext,
): Promise<boolean> {
  const expired = await dependencies.records.objects.listExpired({ scope, limit: SETTLED_PER_REQUEST })
  let settled = expired.length === 0
  for (const rows of settlementBatches(expired)) {
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
