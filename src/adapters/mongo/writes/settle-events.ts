import type { EventSettlement, SettleEventsCommand } from '../../../core/store/driver.js'
import type { SettledEvent } from '../../../core/store/events.js'
import type { Call, Deadline } from '../connection/deadline.js'
import { isWriteConflict } from '../connection/failures.js'
import { runCommand, type Namespace, type Update } from '../connection/namespace.js'
import { transact, type Transaction } from '../connection/transactions.js'
import {
  inQueues,
  type EventDocument,
  type InQueue,
  type QueueDocument,
} from '../documents/event-document.js'
import { removeById, update } from './commands.js'

type Settlement = InQueue<EventSettlement>

/** After this many conflicts, a settlement is split, so that a document which stays blocked holds up only itself. */
const MAX_CONFLICTS = 6

/** Undoes a transaction that can't settle all of its entries. */
class NotAllSole extends Error {
  override readonly name = 'NotAllSole'
}

/** Ends claims that still hold, and returns their events. */
export async function settleEvents(
  namespace: Namespace,
  run: Deadline,
  { entries, now }: SettleEventsCommand,
): Promise<SettledEvent[]> {
  return settleAll(inQueues(entries))

  /** Each part has its own deadline, so one that stays blocked fails alone. Rejects only if nothing was settled. */
  async function settleAll(part: readonly Settlement[]): Promise<SettledEvent[]> {
    if (part.length === 0) return []
    const together = await run((call) => settleTogether(call, part))
    if (together !== null) return together
    const half = Math.ceil(part.length / 2)
    const results = await Promise.allSettled([part.slice(0, half), part.slice(half)].map(settleAll))
    const settled = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    const failure = results.find((result) => result.status === 'rejected')
    if (failure && settled.length === 0) throw failure.reason
    return settled
  }

  /** Settles a part in one transaction. Returns `null` if other transactions keep blocking it, and it can be split. */
  async function settleTogether(call: Call, part: readonly Settlement[]): Promise<SettledEvent[] | null> {
    if (await removeSole(call, part)) return part.map(({ id }) => ({ id, hasNext: false }))
    let conflicts = 0
    const stopsAtConflict = () => part.length > 1 && ++conflicts > MAX_CONFLICTS
    try {
      return await transact({ namespace, call, stopsAtConflict }, (transaction) =>
        settleHeld(transaction, part, now),
      )
    } catch (error) {
      if (part.length === 1 || !isWriteConflict(error)) throw error
      return null
    }
  }

  /**
   * Removes events and their queues, if all claims hold and each event is the only one of its object, as usual.
   * Otherwise changes nothing and returns `false`.
   */
  async function removeSole(call: Call, part: readonly Settlement[]): Promise<boolean> {
    if (part.some(({ retryAt }) => retryAt !== null)) return false
    const deletes = [
      ...part.map(({ id, queue, claim }) => ({ q: { _id: queue, claim, head: id, n: 1 }, limit: 1 })),
      { q: { _id: { $in: part.map(({ id }) => id) } }, limit: 0 },
    ]
    const command = { delete: namespace.events.collectionName, deletes }
    // A conflict shows that another event was recorded, or the claim was replaced.
    const stopsAtConflict = () => true
    try {
      return await transact({ namespace, call, stopsAtConflict }, async ({ session }) => {
        const { n } = await runCommand(namespace, command, session)
        if (Number(n) < 2 * part.length) throw new NotAllSole()
        return true
      })
    } catch (error) {
      if (error instanceof NotAllSole || isWriteConflict(error)) return false
      throw error
    }
  }
}

type QueueWithOldest = QueueDocument & {
  readonly oldest: readonly Pick<EventDocument, '_id' | 'createdAt'>[]
}

async function settleHeld(
  transaction: Transaction,
  entries: readonly Settlement[],
  now: Date,
): Promise<SettledEvent[]> {
  const { events } = transaction.namespace
  const queues = await findQueues(transaction, entries)
  const held = entries.flatMap((entry) => {
    const queue = queues.get(entry.queue)
    if (queue?.claim !== entry.claim || queue.head !== entry.id) return []
    return [{ ...entry, queue, next: queue.oldest.find(({ _id }) => _id !== entry.id) }]
  })
  const deleted: string[] = []
  const updates: Update[] = []
  for (const { id, retryAt, queue, next } of held) {
    if (retryAt === null) deleted.push(id, ...(next ? [] : [queue._id]))
    if (retryAt !== null) {
      updates.push({ q: { _id: queue._id }, u: { $set: { ripeAt: retryAt }, $unset: { claim: 1 } } })
    } else if (next) {
      updates.push({ q: { _id: queue._id }, u: advance(next, now) })
    }
  }
  await removeById(transaction, events, deleted)
  await update(transaction, events, updates)
  return held.map(({ id, next }) => ({ id, hasNext: next !== undefined }))
}

async function findQueues(
  { namespace: { events }, session }: Transaction,
  entries: readonly Settlement[],
): Promise<ReadonlyMap<string, QueueWithOldest>> {
  const ids = [...new Set(entries.map(({ queue }) => queue))]
  // A partial index only serves filters that imply its condition, so this repeats it.
  const ofQueue = { queue: { $exists: true }, $expr: { $eq: ['$queue', '$$queue'] } }
  const oldest = {
    from: events.collectionName,
    let: { queue: '$_id' },
    pipeline: [{ $match: ofQueue }, { $sort: { order: 1 } }, { $limit: 2 }, { $project: { createdAt: 1 } }],
    as: 'oldest',
  }
  const queues = await events
    .aggregate<QueueWithOldest>([{ $match: { _id: { $in: ids } } }, { $lookup: oldest }], {
      session,
      batchSize: ids.length + 1,
    })
    .toArray()
  return new Map(queues.map((queue) => [queue._id, queue]))
}

/** Builds the change of a queue whose oldest event is removed: the next one is due, but not before its own time. */
function advance({ _id, createdAt }: Pick<EventDocument, '_id' | 'createdAt'>, now: Date): object {
  const ripeAt = createdAt > now ? createdAt : now
  return { $inc: { n: -1 }, $set: { ripeAt, head: _id, tried: false }, $unset: { claim: 1, attempts: 1 } }
}
