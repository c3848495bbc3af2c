import type { AbstractCursor, AggregateOptions, ClientSession, Collection, Document } from 'mongodb'
import { abandonedError, backOff, type Call } from './deadline.js'
import { isRetryable } from './failures.js'
import { isRouted, runCommand, type Namespace, type Stored } from './namespace.js'

/** A command that only reads, run in a session that sees all earlier writes of this process. */
export type Read<T> = (session: ClientSession) => Promise<T>

/**
 * Reads what a majority of members has, which survives an election. A new object each time, because the driver adds the
 * time that a session waits for to the object it gets.
 */
export const majority = () => ({ readConcern: { level: 'majority' as const } })

/** As {@link majority}, with everything that the command reads taken from one moment. */
export const snapshot = () => ({ readConcern: { level: 'snapshot' as const } })

/** Options of a command that reads one moment. */
export interface SnapshotOptions {
  readonly session?: ClientSession
  readonly readConcern: { level: 'snapshot' }
}

/** A moment to read. Everything that was acknowledged before it was chosen is in it. */
export interface Moment {
  /** Whether all cursors read the same moment. If not, each reads its own. */
  readonly isShared: boolean
  /** Opens a cursor that reads the moment. */
  open<C extends AbstractCursor>(create: (options: SnapshotOptions) => C): C
}

/**
 * Chooses the moment to read a collection at.
 *
 * A router would choose the latest time that it knows of. That can be before a write that another router acknowledged.
 * It can also be after the last write to the shard, which then writes a note and waits for its journal, up to 100 ms. So
 * this asks the shards of the collection for their time. If there is only one, it never has to wait.
 */
export async function chooseMoment(
  namespace: Namespace,
  session: ClientSession,
  collection: Collection<Stored>,
): Promise<Moment> {
  if (!(await isRouted(namespace))) {
    return { isShared: false, open: (create) => create({ session, ...snapshot() }) }
  }
  // Finds nothing, on every shard of the collection.
  await runCommand(
    namespace,
    { find: collection.collectionName, filter: { _id: { $lt: '' } }, singleBatch: true, ...majority() },
    session,
  )
  return momentOf(session)
}

/** Runs a pipeline that reads one moment of a collection: see {@link chooseMoment}. */
export async function aggregate<D extends Document>(
  namespace: Namespace,
  session: ClientSession,
  collection: Collection<Stored>,
  pipeline: Document[],
  options: AggregateOptions,
): Promise<D[]> {
  const moment = await chooseMoment(namespace, session, collection)
  return moment.open((at) => collection.aggregate<D>(pipeline, { ...at, ...options })).toArray()
}

/** Returns the moment of the last command of a session that is connected to a router. All its cursors read that moment. */
export function momentOf(session: ClientSession): Moment {
  const atClusterTime = session.operationTime
  return {
    isShared: true,
    open(create) {
      // Without the session, because the driver would add the session's time, and the server accepts only one.
      const cursor = create(snapshot())
      Object.assign(cursor.readConcern ?? {}, { atClusterTime })
      return cursor
    },
  }
}

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
