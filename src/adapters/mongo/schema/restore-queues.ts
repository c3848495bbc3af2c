import type { Namespace } from '../connection/namespace.js'
import type { QueueDocument } from '../documents/event-document.js'

/**
 * Makes queues whose oldest event is lost begin with the next one, as after a dump that is not of one moment. Otherwise,
 * no event of the object could be claimed. Every update names the lost event, so it changes no queue that goes on by itself.
 */
export async function restoreQueues({ events }: Namespace): Promise<void> {
  const oldest = { from: events.collectionName, localField: 'head', foreignField: '_id', as: 'oldest' }
  // Without hints, because another process may still be building the indexes.
  const stuck = events.aggregate<QueueDocument>([
    { $match: { ripeAt: { $exists: true } } },
    { $lookup: oldest },
    { $match: { oldest: [] } },
  ])
  for await (const { _id, head, n } of stuck) {
    const next = await events.findOne({ queue: _id }, { sort: { order: 1 } })
    if (next === null) await events.deleteOne({ _id, head, n })
    else
      await events.updateOne(
        { _id, head },
        { $set: { head: next._id, tried: false }, $unset: { claim: 1, attempts: 1 } },
      )
  }
}
