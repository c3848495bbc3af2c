import { createAttemptId } from '../../core/store/attempt-id.js'
import { StorageError } from '../../core/errors.js'
import type { Call } from '../../core/http/endpoint.js'
import type { StorageObject } from '../../core/store/records.js'
import { chunksOf } from '../chunks.js'
import { secondsAfter } from '../lifetimes.js'
import type { ServerParts } from '../server-parts.js'
import { SETTLED_AT_ONCE, settleReservation } from './settle-reservation.js'
import type { UploadAnnouncement } from '../request-input/upload-announcement.js'

/** How many lapsed reservations one request may settle for room. */
const SETTLED_FOR_ROOM = 100

export interface ReservationTerms {
  /** How long the reservation lasts, in seconds. */
  readonly seconds: number
  /** What `onError` is told. */
  readonly operation: string
}

/**
 * Reserves an upload; resolves to the pending row. Where the quota refuses it, what the scope itself abandoned makes
 * room first, and the store is asked once more.
 * @throws StorageError `KEY_CONFLICT` or `QUOTA_EXCEEDED`.
 */
export async function reserveUpload(
  parts: ServerParts,
  announcement: UploadAnnouncement,
  terms: ReservationTerms,
  call: Call,
): Promise<StorageObject> {
  const { records, now } = parts
  const { route, key, filename, contentType, size, metadata } = announcement
  const quota = await records.quotaOf(call.scope, call.request)
  const id = createAttemptId({ now })
  const reserve = () =>
    records.reserve(
      {
        scope: call.scope,
        bucket: route.bucket,
        key,
        declaredSize: size,
        expiresAt: secondsAfter(now(), terms.seconds),
        route: route.name,
        filename,
        contentType,
        metadata,
        storageKey: announcement.storageKeyOf(id),
        overwrite: route.overwrite,
        quota,
        id,
      },
      call.request,
    )

  try {
    return await reserve()
  } catch (refusal) {
    const full = refusal instanceof StorageError && refusal.code === 'QUOTA_EXCEEDED'
    if (full && (await settleLapsed(parts, terms.operation, call))) return reserve()
    throw refusal
  }
}

/** Settles what the caller let lapse, the oldest first, until a failure. Resolves to whether anything was settled. */
async function settleLapsed(
  parts: ServerParts,
  operation: string,
  { scope, request }: Call,
): Promise<boolean> {
  const lapsed = await parts.records.objects.listExpired({ scope, limit: SETTLED_FOR_ROOM })
  let settled = false
  for (const rows of chunksOf(lapsed, SETTLED_AT_ONCE)) {
    const results = await Promise.allSettled(
      rows.map((row) => settleReservation(parts, row, 'confirm', request.signal)),
    )
    const failures = results.filter((result) => result.status === 'rejected')
    for (const { reason } of failures) parts.report(reason, { request, operation })
    settled ||= failures.length < results.length
    if (failures.length > 0) break
  }
  return settled
}
