import type { DbClientObject } from '../../core/store/records.js'
import { END_TIMEOUT } from './end-attempt.js'
import { inOneTab } from './in-one-tab.js'
import type { KeptAttempts, Slot } from './kept-attempts.js'
import { whileOnline } from './retry.js'
import { throwIfAborted, type Transfer } from './transfer.js'

/** Runs attempts, each in a new slot, until one resolves to an object. */
export async function newAttempts(
  kept: KeptAttempts,
  work: (slot: Slot) => Promise<DbClientObject | undefined>,
): Promise<DbClientObject> {
  for (;;) {
    const slot = kept.newSlot()
    const object = await inOneTab(slot, () => work(slot), true)
    if (object) return object
  }
}

/**
 * Runs the call that starts an attempt with a signal that aborts `END_TIMEOUT` after the upload's. Without its response, the
 * client could not end the attempt at the server. Waits while the browser is offline.
 */
export async function startAttempt<Result>(
  transfer: Transfer,
  start: (delayed: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { signal, phase } = transfer
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const follow = () => {
    transfer.leave()
    timer = setTimeout(() => controller.abort(), END_TIMEOUT * 1000)
  }
  throwIfAborted(signal)
  phase.enter('sending')
  signal.addEventListener('abort', follow)
  try {
    return await whileOnline(() => start(controller.signal), transfer)
  } finally {
    signal.removeEventListener('abort', follow)
    clearTimeout(timer)
  }
}
