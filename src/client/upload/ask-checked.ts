import type { DbClientObject } from '../../core/store/records.js'
import type { CallOptions } from '../call-options.js'
import { attemptCalls, isGone } from './attempt.js'
import { checkedLike, type CheckedUpload, replaceChecked } from './checked-uploads.js'
import type { KeptAttempts } from './kept-attempts.js'
import { retry, throwIfAborted } from './retry.js'
import type { Transfer } from './transfer.js'
import type { UploadContext } from './upload-request.js'

/**
 * Returns the object of an upload while it waits for its check, and forgets an upload that has passed or ended. Rejects with
 * `UPLOAD_REJECTED` if it failed its check less than an hour ago.
 */
export async function askChecked(
  { request }: Pick<UploadContext, 'request'>,
  kept: KeptAttempts,
  { object }: CheckedUpload,
  limit: CallOptions,
): Promise<DbClientObject | undefined> {
  try {
    const found = await attemptCalls({ request }, { object }).finish(limit)
    if (found.checking) return found
  } catch (error) {
    if (!isGone(error)) throw error
  }
  replaceChecked(kept, object.id)
  return undefined
}

/**
 * Returns the object of an earlier upload of the same file that waits for its check. Rejects with `UPLOAD_REJECTED` if such an upload
 * failed its check less than an hour ago.
 */
export async function checkedBefore(transfer: Transfer): Promise<DbClientObject | undefined> {
  const { kept, phase, signal } = transfer
  for (const upload of await checkedLike(transfer)) {
    throwIfAborted(signal)
    phase.enter('confirming')
    const object = await retry(() => askChecked(transfer, kept, upload, transfer), transfer)
    if (object) return object
  }
  return undefined
}
