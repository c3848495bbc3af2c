import type { DbClientObject } from '../../core/store/records.js'
import { withoutResponse } from '../client-error.js'
import { END_LIMIT, endAttempt } from './end-attempt.js'
import { inOneTab } from './in-one-tab.js'
import type { KeptAttempt, Slot } from './kept-attempts.js'
import { throwIfAborted, whileOnline } from './retry.js'
import type { Transfer } from './transfer.js'

/** Runs attempts, each in a new slot, until one resolves to an object. */
export async function newAttempts(
  { kept }: Transfer,
  work: (slot: Slot) => Promise<DbClientObject | undefined>,
): Promise<DbClientObject> {
  for (;;) {
    const slot = kept.newSlot()
    const object = await inOneTab(slot, () => work(slot), true)
    if (object) return object
  }
}

/**
 * Runs the call that starts an attempt with a signal that aborts ten seconds after the upload's. Without its response, the
 * client could not end the attempt at the server. Waits while the browser is offline. Rejects with `ABORTED` if another account
 * is signed in by then, which would become the owner of the file.
 */
export async function startAttempt<Result extends { readonly object: DbClientObject }>(
  transfer: Transfer,
  slot: Slot,
  path: `/${string}`,
): Promise<Result> {
  const { request, uploadRequest: body, signal, phase } = transfer
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const follow = () => {
    transfer.leave()
    timer = setTimeout(() => controller.abort(), END_LIMIT.timeoutSeconds * 1000)
  }
  throwIfAborted(signal)
  phase.enter('sending')
  signal.addEventListener('abort', follow)
  try {
    return await whileOnline(() => {
      if (!slot.isCurrent()) throw withoutResponse({ aborted: true })
      return request<Result>('POST', path, { body, answer: 'object', signal: controller.signal })
    }, transfer)
  } finally {
    signal.removeEventListener('abort', follow)
    clearTimeout(timer)
  }
}

/** Sends and confirms an attempt. If that fails, ends the attempt, unless it `isKept` after this error. */
export async function endOnFailure(
  send: () => Promise<DbClientObject>,
  transfer: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
  isKept?: (error: unknown) => boolean,
): Promise<DbClientObject> {
  try {
    const object = await send()
    slot.clear()
    return object
  } catch (error) {
    if (isKept && isKept(error)) throw error
    transfer.leave()
    const object = await endAttempt(slot, attempt)
    if (object) return object
    throw error
  }
}
