import type { DbClientObject } from '../../core/store/records.js'
import { isCode } from '../client-error.js'
import { attemptCalls } from './attempt-calls.js'
import type { KeptAttempt, Slot } from './kept-attempts.js'

/** Limits how long the client waits for the server when it settles or ends an attempt. */
export const END_LIMIT = { timeoutSeconds: 10 }

/**
 * Aborts an attempt at the server, which releases its quota. If the server can't be reached, the abort stays in the slot, to
 * be repeated. Resolves to the object if the attempt turns out to be confirmed: a confirm that was aborted, or whose response
 * was lost, may have succeeded.
 */
export async function endAttempt(slot: Slot, attempt: KeptAttempt): Promise<DbClientObject | undefined> {
  const { abort, finish } = attemptCalls(slot.request, attempt)
  let object: DbClientObject | undefined
  slot.write({ ...attempt, aborted: true })
  try {
    await abort(END_LIMIT).catch(async (error: unknown) => {
      if (!isGone(error)) throw error
      object = await finish(END_LIMIT)
    })
  } catch (error) {
    if (!isGone(error) || !slot.isCurrent()) return undefined
  }
  slot.clear()
  return object
}

/** Returns whether the server doesn't know an attempt, cannot know it, or no longer has the operation. */
export function isGone(error: unknown): boolean {
  return isCode(error, 'NOT_FOUND') || isCode(error, 'OBJECT_NOT_FOUND') || isCode(error, 'VALIDATION_ERROR')
}
