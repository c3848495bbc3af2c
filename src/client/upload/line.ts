import { limited } from '../call-options.js'
import { isCode } from '../client-error.js'
import type { DbClientObject } from '../../core/store/records.js'
import type { trackPhase } from './transfer.js'
import { throwIfAborted } from './retry.js'
import type { UploadContext, UploadOptions } from './upload-request.js'

/** Uploads of a client that have begun at once. More would wait for connections while their URLs expire. */
const MAX_BEGUN = 6

/**
 * Runs an upload once fewer than six of the client have begun, and once those that were cancelled before have given back their
 * quota. Its time begins then. An aborted upload is waited for, and one that takes too long goes on without the caller.
 */
export async function inLine(
  { begun, cancelled, stallSeconds }: UploadContext,
  options: UploadOptions,
  phase: ReturnType<typeof trackPhase>,
  work: (signal: AbortSignal) => Promise<DbClientObject>,
): Promise<DbClientObject> {
  let leave!: () => void
  const done = new Promise<void>((resolve) => (leave = resolve)).then(() => {
    begun.delete(done)
    cancelled.delete(done)
  })
  const enter = async () => {
    while (begun.size >= MAX_BEGUN) await limited({ signal: options.signal }, () => Promise.race(begun))
    begun.add(done)
  }
  let run: Promise<DbClientObject> | undefined
  try {
    await (begun.size >= MAX_BEGUN ? phase.waiting(enter) : enter())
    return await limited(options, (signal) => {
      const before = Promise.all(cancelled)
      run = limited({ timeoutSeconds: stallSeconds }, () => before)
        .catch(() => undefined)
        .then(() => {
          throwIfAborted(signal)
          return work(signal)
        })
      run.then(leave, leave)
      signal.addEventListener('abort', () => begun.has(done) && cancelled.add(done))
      return run
    })
  } catch (error) {
    if (!run) leave()
    else if (!isCode(error, 'TIMEOUT')) return run
    throw error
  }
}
