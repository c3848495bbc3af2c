import type { ClientSession } from 'mongodb'
import { abandonedError, backOff, type Call } from './deadline.js'
import {
  CommitUnknown,
  isClientClosed,
  isRetryable,
  isWriteConflict,
  leavesCommitUnknown,
} from './failures.js'
import { rememberCommit, runCommand, type Namespace } from './namespace.js'
import type { Reader } from './reads.js'

/** Options of every transaction. They override whatever the client is set to. */
export const TRANSACTION = {
  readConcern: { level: 'local' },
  writeConcern: { w: 'majority' },
  readPreference: 'primary',
} as const

/** What runs in a transaction gets the same as what reads. */
export type Transaction = Reader

export interface TransactOptions {
  readonly namespace: Namespace
  /** Once this call times out, the transaction is not committed. */
  readonly call: Call
  /** Asked after a write conflict. `true` stops retrying and rejects with the conflict. Default: `false`. */
  readonly stopsAtConflict?: (() => boolean) | undefined
  /** Whether all reads, also those on different shards, are of one moment, which may take a wait. Default: `false`. */
  readonly readsOneMoment?: boolean | undefined
}

/**
 * Runs the work in a transaction and retries until it is committed, exactly once, or fails for good. A transaction that
 * only read is committed too: until then its reads could be rolled back. All tries share one session, so each ends what
 * the server still has of the previous one.
 */
export async function transact<T>(
  { namespace, call, stopsAtConflict = () => false, readsOneMoment = false }: TransactOptions,
  work: (transaction: Transaction, failures: number) => Promise<T>,
): Promise<T> {
  const session = namespace.client.startSession({ causalConsistency: true })
  const options = readsOneMoment
    ? { ...TRANSACTION, readConcern: { level: 'snapshot' as const } }
    : TRANSACTION
  let isOver = false
  void call.timedOut.then(() => {
    if (!isOver) endOnServer(namespace, session)
  })
  try {
    for (let failures = 0; ; failures++) {
      try {
        session.startTransaction(options)
        const result = await work({ namespace, session }, failures)
        if (call.hasTimedOut) throw abandonedError(call.lastError)
        await commit(session, call)
        rememberCommit(namespace.clock, session)
        return result
      } catch (error) {
        if (!isRetryable(error) || error instanceof CommitUnknown || call.hasTimedOut) throw error
        call.lastError = error
        if (isWriteConflict(error) && stopsAtConflict()) throw error
        await Promise.all([abort(session), backOff(failures)])
        if (call.hasTimedOut) throw abandonedError(error)
      }
    }
  } finally {
    isOver = true
    await session.endSession().catch(() => {})
  }
}

/** Undoes what the session's transaction has written, and starts another one. */
export async function restart(session: ClientSession): Promise<void> {
  await session.abortTransaction()
  session.startTransaction(TRANSACTION)
}

const OUTCOME_UNKNOWN =
  'The client was closed during a commit. Whether the write took effect is unknown; retrying with the same id is safe.'

/** Commits, with retries. Repeating is safe: the server reports the outcome of the session's transaction. */
async function commit(session: ClientSession, call: Call): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (!leavesCommitUnknown(error)) throw error
      call.lastError = error
      if (isClientClosed(error) || call.hasTimedOut) {
        throw new CommitUnknown(OUTCOME_UNKNOWN, { cause: error })
      }
      await backOff(failures)
    }
  }
}

/** Ends the session's transaction over another connection: a repeated call would have to wait until it expires. */
function endOnServer(namespace: Namespace, session: ClientSession): void {
  runCommand(namespace, { killSessions: [session.id] }).catch(() => {})
}

async function abort(session: ClientSession): Promise<void> {
  // The driver ignores failures. The next try then ends the transaction.
  if (session.inTransaction()) await session.abortTransaction()
}
