import type { AbstractCursor, AggregateOptions, ClientSession, Collection, Document } from 'mongodb'
import { abandonedError, backOff, type Call } from './deadline.js'
import { isRetryable } from './failures.js'
import { isRouted, runCommand, type Namespace, type Stored } from './namespace.js'
import { whileOpen } from './opening.js'
import { isBetweenPrimaries } from './topology.js'

/** Where a command runs: a session that sees all earlier writes of this process. */
export interface Reader {
  readonly namespace: Namespace
  readonly session: ClientSession
}

/** A command that only reads. */
export type Read<T> = (reader: Reader) => Promise<T>

/** Reads what survives an election. A new object each time, because the driver adds the session's time to it. */
export const majority = () => ({ readConcern: { level: 'majority' as const } })

/** As {@link majority}, with everything that the command reads taken from one moment. */
export const snapshot = () => ({ readConcern: { level: 'snapshot' as const } })

export interface SnapshotOptions {
  readonly session?: ClientSession
  readonly readConcern: { level: 'snapshot' }
}

/** A moment to read. Everything that was acknowledged before it was chosen is in it. */
export interface Moment {
  /** Whether all cursors read the same moment. If not, each reads its own. */
  readonly isShared: boolean
  open<C extends AbstractCursor>(create: (options: SnapshotOptions) => C): C
}

/**
 * Chooses the moment to read a collection at.
 *
 * A router would choose the latest time that it knows of, which can be before a write that another router acknowledged,
 * or so late that a shard waits up to 100 ms for its journal. So this asks the shards of the collection for their time.
 */
export async function chooseMoment(
  { namespace, session }: Reader,
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

/** Runs a pipeline at one moment: see {@link chooseMoment}. */
export async function aggregate<D extends Document>(
  reader: Reader,
  collection: Collection<Stored>,
  pipeline: Document[],
  options: AggregateOptions,
): Promise<D[]> {
  const moment = await chooseMoment(reader, collection)
  return moment.open((at) => collection.aggregate<D>(pipeline, { ...at, ...options })).toArray()
}

/** Returns the moment of the last command of a session through a router. */
export function momentOf(session: ClientSession): Moment {
  const atClusterTime = session.operationTime
  return {
    isShared: true,
    open(create) {
      // Without the session, because the driver would add the session's time, and the server accepts only one.
      const cursor = create(snapshot())
      const { readConcern } = snapshot()
      Object.defineProperties(cursor.readConcern ?? {}, {
        atClusterTime: { value: atClusterTime, enumerable: true },
        // What driver 6.0 sends with a `find`.
        toJSON: { value: () => ({ ...readConcern, atClusterTime }) },
      })
      return cursor
    },
  }
}

/**
 * Runs a read, with retries, that sees at least what this process has committed: after an election, the new primary may
 * not know at once how far its predecessor had come.
 */
export async function readWithRetry<T>(namespace: Namespace, call: Call, read: Read<T>): Promise<T> {
  const { client, clock } = namespace
  const session = client.startSession({ causalConsistency: true })
  try {
    for (let failures = 0; ; failures++) {
      if (clock.last) session.advanceOperationTime(clock.last)
      try {
        return await whileOpen(client, () => read({ namespace, session }))
      } catch (error) {
        if (!isRetryable(error) && !isBetweenPrimaries(error)) throw error
        call.lastError = error
        await backOff(failures)
        if (call.hasTimedOut) throw abandonedError(error)
      }
    }
  } finally {
    await session.endSession()
  }
}
