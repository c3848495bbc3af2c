import type { Binary, ClientSession } from 'mongodb'
import { endAbandoned } from './abandoned.js'
import { abandonedError, backOff, OUTCOME_UNKNOWN, type Call } from './deadline.js'
import { refuseDirectConnection } from './direct.js'
import {
  CommitUnknown,
  isClientClosed,
  isNotPrimary,
  isRetryableInTransaction,
  isWriteConflict,
  leavesCommitUnknown,
} from './failures.js'
import { rememberCommit, runCommand, type Namespace } from './namespace.js'
import type { Reader } from './reads.js'
import { keepSession, takeSession } from './sessions.js'
import { isBetweenPrimaries } from './topology.js'

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
  const session = takeSession(namespace.client)
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
        const mayRunAgain = isRetryableInTransaction(error) || isBetweenPrimaries(error)
        if (!mayRunAgain || error instanceof CommitUnknown || call.hasTimedOut) throw error
        call.lastError = error
        if (isWriteConflict(error)) {
          endAbandoned(namespace, call)
          if (stopsAtConflict()) throw error
        }
        if (isNotPrimary(error)) await refuseDirectConnection(namespace)
        await Promise.all([abort(session), backOff(failures, call.since)])
        if (call.hasTimedOut) throw abandonedError(error)
      }
    }
  } finally {
    isOver = true
    // After a timeout, a command that ends the transaction may still be under way, and would end the next one.
    if (call.hasTimedOut) await session.endSession().catch(() => {})
    else {
      await abort(session)
      keepSession(namespace.client, session)
    }
  }
}

/** Undoes what the session's transaction has written, and starts another one. */
export async function restart(session: ClientSession): Promise<void> {
  await session.abortTransaction()
  session.startTransaction(TRANSACTION)
}

const CLOSED_DURING_COMMIT = `The client was closed during a commit. ${OUTCOME_UNKNOWN}`

/** Commits, with retries. Repeating is safe: the server reports the outcome of the session's transaction. */
async function commit(session: ClientSession, call: Call): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (!leavesCommitUnknown(error)) throw error
      call.lastError = error
      if (isClientClosed(error) || call.hasTimedOut) {
        throw new CommitUnknown(CLOSED_DURING_COMMIT, { cause: error })
      }
      await backOff(failures)
    }
  }
}

/** Ends the session's transaction over another connection: a repeated call would have to wait until it expires. */
function endOnServer(namespace: Namespace, session: ClientSession): void {
  if (session.id === undefined) return
  // A copy, because the driver may get its own id back before the command is sent.
  const { buffer, sub_type, constructor } = session.id.id
  const id = Reflect.construct(constructor, [Uint8Array.from(buffer), sub_type]) as Binary
  runCommand(namespace, { killSessions: [{ id }] }).catch(() => {})
}

async function abort(session: ClientSession): Promise<void> {
  // After a failure, the next transaction of the session ends this one.
  if (session.inTransaction()) await session.abortTransaction().catch(() => {})
}
