import type { DbClientObject } from '../../core/store/records.js'
import { isCode } from '../client-error.js'

/** How long an upload that is being given up waits for the server, in milliseconds. */
export const LAST_WORDS = 10_000

/** The calls that can be the last of an attempt. */
export interface LastCalls {
  readonly abort: (signal: AbortSignal) => Promise<void>
  readonly confirm: (signal: AbortSignal) => Promise<DbClientObject>
}

/**
 * Ends an attempt, so that it no longer counts against the quota. Resolves to the object where there was none left to
 * end because it had been confirmed: a confirm that was aborted, or whose answers were lost, may have been carried out.
 * A server that can't be reached drops the attempt by itself when it lapses.
 */
export async function giveUp({ abort, confirm }: LastCalls): Promise<DbClientObject | null> {
  try {
    await abort(AbortSignal.timeout(LAST_WORDS))
    return null
  } catch (error) {
    if (!isCode(error, 'OBJECT_NOT_FOUND')) return null
    return confirm(AbortSignal.timeout(LAST_WORDS)).catch(() => null)
  }
}
