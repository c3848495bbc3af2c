import { StorageError } from '../../core/errors.js'
import type { ErrorContext } from '../../core/reporter.js'
import { createAttemptId } from '../../core/store/attempt-id.js'
import type { ObjectMetadata, Quota, StorageObject } from '../../core/store/records.js'
import { shown } from '../../core/store/validation/checks.js'
import { EXPIRED, notFound } from './errors.js'
import type { UploadKeys } from './keys.js'
import { settleReservation, SETTLED_AT_ONCE } from './settle.js'
import type { ServerDependencies } from '../dependencies.js'
import { findOwnActive, findOwnArrived } from '../objects.js'
import { endedBy, ENDED_AT_ONCE, endTemporary, hasEnded } from '../temporary.js'
import type { RoutePolicy } from '../upload-routes/options.js'
import { GRACE_SECONDS, secondsAfter } from '../url-terms.js'
import { workThrough } from '../work-through.js'

/** A validated request to start an upload, with the key that it will have. */
export interface UploadRequest extends UploadKeys {
  readonly route: RoutePolicy
  readonly filename: string | null
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  readonly metadata: ObjectMetadata | null
}

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
  /** `null` or left out: that of the route. */
  readonly temporarySeconds?: number | null
  /** The time for the check of the bytes, in seconds. `null`: they are not checked. */
  readonly checkSeconds: number | null
}

/** How many expired reservations one request may settle to free quota. */
const SETTLED_PER_REQUEST = 100

/**
 * Reserves an upload. If the quota is exceeded, ends what has expired of the scope and tries once more; and so if the key is taken by an
 * own object past its end.
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
        temporarySeconds: terms.temporarySeconds ?? route.temporarySeconds,
        checkSeconds: terms.checkSeconds,
        id,
      },
      context.request,
    )

  const remedied = new Set<string>()
  for (;;) {
    try {
      return await reserve()
    } catch (refusal) {
      const code = refusal instanceof StorageError ? refusal.code : 'INTERNAL_ERROR'
      if (remedied.has(code)) throw refusal
      remedied.add(code)
      const isFreed =
        code === 'QUOTA_EXCEEDED'
          ? await freeQuota(dependencies, scope, context)
          : code === 'KEY_CONFLICT' &&
            !route.overwrite &&
            (await freeKey(dependencies, upload, scope, context))
      if (!isFreed) throw refusal
    }
  }
}

/**
 * Ends the scope's own object at the key, if it is past its end. Returns whether the key may be free then.
 * @throws StorageError `KEY_CONFLICT` that says what has the key, if it is the scope's own object that stays, or its upload. Other scopes
 * must not learn what has it.
 */
async function freeKey(
  dependencies: ServerDependencies,
  { route, key }: UploadRequest,
  scope: string,
  context: ErrorContext,
): Promise<boolean> {
  const { records, now } = dependencies
  const at = { bucket: route.bucket, key }
  const own = await findOwnActive(records, at, scope)
  const arrived = await findOwnArrived(records, at, scope)
  if (!own && !arrived) return false
  if (own && hasEnded(own, now())) {
    const ended = await endTemporary(dependencies, [own], context)
    if (ended.length > 0 && !arrived) return true
  }
  const taken = own ? 'You have an object with this key' : 'A file of yours with this key is being checked'
  throw new StorageError('KEY_CONFLICT', {
    message: `${taken}, and the upload route ${shown(route.name)} does not allow overwrite.`,
  })
}

/** Ends what has expired of a scope. Returns whether to reserve again. */
async function freeQuota(
  dependencies: ServerDependencies,
  scope: string,
  context: ErrorContext,
): Promise<boolean> {
  const isSettled = await settleExpired(dependencies, scope, context)
  const before = endedBy(dependencies.now())
  const ended = await dependencies.records.objects.listTemporary({ scope, before, limit: ENDED_AT_ONCE })
  const known = ended.filter(({ bucket }) => dependencies.buckets.has(bucket))
  const removed = await endTemporary(dependencies, known, context)
  return isSettled || removed.length > 0
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
  await workThrough([known], SETTLED_AT_ONCE, (row) =>
    settleReservation(dependencies, row, 'confirm', context.request?.signal).then(
      () => (settled = true),
      (error: unknown) => {
        dependencies.report(error, context)
        return false
      },
    ),
  )
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
