import type { ClientSession } from 'mongodb'
import { abandonedError, backOff, type Call } from './deadline.js'
import { isRetryable } from './failures.js'
import type { Namespace } from './namespace.js'

/** A command that only reads, run in a session that sees all earlier writes of this process. */
export type Read<T> = (session: ClientSession) => Promise<T>

/**
 * Reads what a majority of members has, which survives an election. A new object each time, because the driver adds the
 * time that a session waits for to the object it gets.
 */
export const majority = () => ({ readConcern: { level: 'majority' as const } })

/** As {@link majority}, with everything that the command reads taken from one moment. */
export const snapshot = () => ({ readConcern: { level: 'snapshot' as const } })

/**
 * Runs a read, with retries, that sees at least what this process has committed. After an election the new primary may
 * not know at once how far its predecessor had come, so `majority` alone could miss acknowledged writes.
 */
export async function readWithRetry<T>({ client, clock }: Namespace, call: Call, read: Read<T>): Promise<T> {
  const session = client.startSession({ causalConsistency: true })
  try {
    for (let failures = 0; ; failures++) {
      if (clock.last) session.advanceOperationTime(clock.last)
      try {
        return await read(session)
      } catch (error) {
        if (!isRetryable(error)) throw error
        call.lastError = error
        await backOff(failures)
        if (call.hasTimedOut) throw abandonedError(error)
      }
    }
  } finally {
    await session.endSession()
  }
}
