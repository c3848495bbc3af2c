import type { ClientSession } from 'mongodb'
import { isClosed, leavesCommitUnknown, lostRace, mayBeginAgain } from './failures.js'
import { nobodyWaits } from './patience.js'
import { pauseAfter } from './pause.js'
import { rememberCommit, runCommand, type Place } from './place.js'

/** Whatever the client is set to. */
export const TRANSACTION = {
  readConcern: { level: 'local' },
  writeConcern: { w: 'majority' },
  readPreference: 'primary',
} as const

/** For whom a transaction runs: it ends without commit when nobody waits for it any more. */
export interface Audience {
  readonly givenUp: boolean
  /** Resolves when the last of them has gone. */
  readonly givingUp: Promise<void>
  trouble: unknown
}

export interface TransactOptions {
  readonly place: Place
  readonly audience: Audience
  /** Asked when the transaction has met another: `true` begins nothing again, and rejects with what the server said. */
  readonly leavesRace?: (() => boolean) | undefined
}

/**
 * Runs the work in a transaction, again and again until it is committed, or fails for a reason of its own: exactly once,
 * also where answers are lost. What has only read is committed too, because only then what it saw can't be rolled back.
 *
 * All tries share a session. A new one so ends, on the server, what is left of the one before.
 */
export async function transact<T>(
  { place, audience, leavesRace = () => false }: TransactOptions,
  work: (session: ClientSession, failures: number) => Promise<T>,
): Promise<T> {
  const session = place.client.startSession({ causalConsistency: true })
  let isOver = false
  void audience.givingUp.then(() => {
    if (!isOver) endOnServer(place, session)
  })
  try {
    for (let failures = 0; ; failures++) {
      try {
        session.startTransaction(TRANSACTION)
        const result = await work(session, failures)
        if (audience.givenUp) throw nobodyWaits(audience.trouble)
        await commit(session, audience)
        rememberCommit(place.clock, session)
        return result
      } catch (error) {
        const again = mayBeginAgain(error) && !(error instanceof CommitUnknown)
        if (!again || audience.givenUp || (lostRace(error) && leavesRace())) throw error
        audience.trouble = error
        await Promise.all([abort(session), pauseAfter(failures)])
        if (audience.givenUp) throw nobodyWaits(error)
      }
    }
  } finally {
    isOver = true
    // Ends what is still open, so that it is in nobody's way.
    await session.endSession().catch(() => {})
  }
}

/** Nobody knows whether the transaction was committed, and nobody can be asked. */
class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}

/** Asked again in the same session, the server answers for this very transaction: it is committed, or never will be. */
async function commit(session: ClientSession, audience: Audience): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (!leavesCommitUnknown(error)) throw error
      audience.trouble = error
      if (isClosed(error) || audience.givenUp) {
        throw new CommitUnknown('The outcome of the transaction is unknown.', { cause: error })
      }
      await pauseAfter(failures)
    }
  }
}

/**
 * Where one connection hangs, others may not: a repeat of the call must not wait until the server finds out by itself
 * that nobody goes on with this transaction, which takes it a minute.
 */
function endOnServer(place: Place, session: ClientSession): void {
  runCommand(place, { killSessions: [session.id] }).catch(() => {})
}

async function abort(session: ClientSession): Promise<void> {
  // The driver tells nobody where that fails; the next try ends it then.
  if (session.inTransaction()) await session.abortTransaction()
}
