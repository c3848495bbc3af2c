import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import { withTimeout } from '../call-options.js'
import { isCode } from '../client-error.js'
import { attemptCalls } from './attempt-calls.js'
import type { KeptAttempt, KeptAttempts, Slot } from './kept-attempts.js'
import type { Transfer } from './transfer.js'

/** How long the client waits for the server when it settles or ends an attempt, in seconds. */
export const END_TIMEOUT = 10

/** An attempt, and where it is kept. */
export interface AttemptToEnd {
  readonly request: ApiRequest
  readonly kept: KeptAttempts
  readonly slot: Slot
  readonly attempt: KeptAttempt
}

/** Sends and confirms an attempt. If that fails, ends the attempt, unless it `isKept` after this error. */
export async function endOnFailure(
  send: () => Promise<DbClientObject>,
  { transfer, ...ending }: AttemptToEnd & { readonly transfer: Pick<Transfer, 'leave'> },
  isKept?: (error: unknown) => boolean,
): Promise<DbClientObject> {
  try {
    const object = await send()
    ending.slot.clear()
    return object
  } catch (error) {
    if (isKept && isKept(error)) throw error
    transfer.leave()
    const object = await endAttempt(ending)
    if (object) return object
    throw error
  }
}

/**
 * Aborts an attempt at the server, which releases its quota. If the server can't be reached, the abort stays in the slot, to
 * be repeated. Resolves to the object if the attempt turns out to be confirmed: a confirm that was aborted, or whose response
 * was lost, may have succeeded.
 */
export async function endAttempt({
  request,
  kept,
  slot,
  attempt,
}: AttemptToEnd): Promise<DbClientObject | null> {
  const { abort, finish } = attemptCalls(request, attempt)
  const limit = { timeoutSeconds: END_TIMEOUT }
  slot.write({ ...attempt, aborted: true })
  let object = null
  try {
    await withTimeout(limit, abort)
  } catch (error) {
    if (!isGone(error)) return null
    try {
      object = await withTimeout(limit, finish)
    } catch (failure) {
      if (!isGone(failure) || !kept.isCurrent()) return null
    }
  }
  slot.clear()
  return object
}

const GONE = ['OBJECT_NOT_FOUND', 'VALIDATION_ERROR', 'NOT_FOUND'] as const

/** Returns whether the server doesn't know an attempt, cannot know it, or no longer has the operation. */
export function isGone(error: unknown): boolean {
  return GONE.some((code) => isCode(error, code))
}
