import type { DbClientObject } from '../../core/store/records.js'
import { limited } from '../call-options.js'
import { isCode } from '../client-error.js'
import { createLine } from './line.js'
import { throwIfAborted } from './retry.js'
import type { trackPhase } from './progress.js'
import type { UploadContext, UploadOptions } from './upload-request.js'

/** Uploads of a client that have begun at once. More would only wait for connections while their URLs expire. */
const MAX_BEGUN = 6

/** Browsers have six connections to a host. What waits for one would look like a request that has stalled. */
export const MAX_PUTS = 6

/** What the uploads of a client share. */
export type Traffic = ReturnType<typeof createTraffic>

const traffics = new WeakMap<UploadContext, Traffic>()

function createTraffic() {
  return {
    uploads: createLine(MAX_BEGUN),
    puts: createLine(MAX_PUTS),
    /** Uploads that were cancelled. Each resolves once nothing of it is left. */
    cancelled: new Set<Promise<void>>(),
  }
}

/** Returns what the uploads of a client share, which is created with its first upload. */
export function trafficOf(context: UploadContext): Traffic {
  const traffic = traffics.get(context) || createTraffic()
  traffics.set(context, traffic)
  return traffic
}

/**
 * Runs an upload once fewer than six of the client have begun, and once those that were cancelled before have given back their
 * quota. Its time begins then. One that is aborted or takes too long goes on without the caller, to end its attempt. Only while the
 * server verifies the bytes does an abort wait for the outcome, because it may come too late.
 */
export async function beginInLine(
  context: UploadContext,
  options: UploadOptions,
  phase: ReturnType<typeof trackPhase>,
  work: (signal: AbortSignal) => Promise<DbClientObject>,
): Promise<DbClientObject> {
  const { uploads, cancelled } = trafficOf(context)
  const leave = await uploads.enter({}, options.signal, phase.waiting)
  let run: Promise<DbClientObject> | undefined
  let isOver = false
  try {
    const begin = (signal: AbortSignal) => {
      const before = Promise.all(cancelled)
      run = limited({ timeoutSeconds: context.stallSeconds }, () => before)
        .catch(() => undefined)
        .then(() => {
          throwIfAborted(signal)
          return work(signal)
        })
      const end = () => {
        isOver = true
        cancelled.delete(ended)
        leave()
      }
      const ended = run.then(end, end)
      signal.addEventListener('abort', () => !isOver && cancelled.add(ended))
      return run
    }
    return await limited(options, begin, undefined, phase.holdBack)
  } catch (error) {
    if (!run) leave()
    else if (isCode(error, 'ABORTED') && phase.isConfirming()) return run
    throw error
  }
}
