import type { ClientSession } from 'mongodb'
import { mayBeginAgain } from './failures.js'
import { nobodyWaits, type Call } from './patience.js'
import { pauseAfter } from './pause.js'
import type { Place } from './place.js'

/**
 * What most members have, and will keep. Given with each read, because the driver writes the time that a session waits
 * for into the very object, where it would stay.
 */
export const majority = () => ({ readConcern: { level: 'majority' as const } })

/** The same, of one moment for all that the command reads. */
export const snapshot = () => ({ readConcern: { level: 'snapshot' as const } })

/**
 * Reads what this process has written at the least. Right after an election the new primary doesn't know at once how far
 * its predecessor had come, and `majority` alone could miss what was acknowledged.
 */
export async function readAgain<T>(
  { client, clock }: Place,
  call: Call,
  read: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const session = client.startSession({ causalConsistency: true })
  try {
    for (let failures = 0; ; failures++) {
      if (clock.last) session.advanceOperationTime(clock.last)
      try {
        return await read(session)
      } catch (error) {
        if (!mayBeginAgain(error)) throw error
        call.trouble = error
        await pauseAfter(failures)
        if (call.givenUp) throw nobodyWaits(error)
      }
    }
  } finally {
    await session.endSession()
  }
}
