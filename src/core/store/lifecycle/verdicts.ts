import type * as driver from '../driver.js'
import type { RecordedChange } from '../events.js'
import { REJECTION_SECONDS } from '../inputs/verdicts.js'
import { secondsAfter } from '../validation/checks.js'
import {
  endOfAttempt,
  hasArrived,
  UNCHANGED,
  type KeyChange,
  type LiveRows,
  type Rejection,
  type Unchanged,
} from './change.js'

export function planReject(
  before: LiveRows,
  { id, scope, reason, now }: driver.RejectCommand,
): KeyChange | Unchanged<null> {
  const { pending } = before
  if (!hasArrived(pending) || pending.id !== id) return UNCHANGED
  if (scope !== null && pending.scope !== scope) return UNCHANGED
  const { bucket, key } = pending
  const rejection = { attemptId: id, scope: pending.scope, bucket, key, rejectedAt: now, reason }
  const event: RecordedChange = { type: 'rejected', object: pending, previous: null, reason }
  return { ...endOfAttempt(before, pending, now), event, rejection }
}

/**
 * Returns `rejected` if this confirm, which was refused as `not-found`, is of an attempt with this rejection, less than an hour ago.
 * Look the rejection up by the `id` of the command, and only after that refusal: confirms that succeed need no look.
 *
 * @example
 * import { refuseRejected, type ConfirmCommand, type Rejection } from '@svc/db/adapter'
 *
 * const refuse = (command: ConfirmCommand, found: Rejection | null) =>
 *   refuseRejected(command, found) ?? { outcome: 'not-found' }
 */
export function refuseRejected(
  { bucket, key, id, scope, accept, now }: driver.ConfirmCommand,
  rejection: Rejection | null,
): driver.RejectedRefusal | null {
  if (rejection === null || accept || rejection.attemptId !== id) return null
  const isSame = rejection.bucket === bucket && rejection.key === key
  if (!isSame || (scope !== null && scope !== rejection.scope)) return null
  const isRemembered = secondsAfter(rejection.rejectedAt, REJECTION_SECONDS) > now
  return isRemembered ? { outcome: 'rejected', reason: rejection.reason } : null
}
