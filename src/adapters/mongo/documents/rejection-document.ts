import { keyId, referenceOf } from '../../../core/names.js'
import type { Rejection } from '../../../core/store/lifecycle/change.js'
import type { Stored } from '../connection/namespace.js'

/**
 * The verdict on an attempt. It is in the collection of keys and scopes, so one command writes it with the key. Its `_id`
 * starts with NUL, unlike that of keys and scopes.
 */
export interface RejectionDocument extends Stored {
  readonly scope: string
  /** The `_id` of the key. */
  readonly at: string
  readonly rejectedAt: Date
  readonly reason?: string
}

const PREFIX = '\0rejected '

export function rejectionId(attemptId: string): string {
  return PREFIX + attemptId
}

export function rejectionDocument(rejection: Rejection): Stored {
  const { attemptId, scope, rejectedAt, reason } = rejection
  return {
    _id: rejectionId(attemptId),
    scope,
    at: keyId(rejection),
    rejectedAt,
    ...(reason !== null && { reason }),
  }
}

export function readRejection({ _id, scope, at, rejectedAt, reason }: RejectionDocument): Rejection {
  const attemptId = _id.slice(PREFIX.length)
  return { attemptId, scope, ...referenceOf(at), rejectedAt, reason: reason ?? null }
}
