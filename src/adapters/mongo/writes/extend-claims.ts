import type { ExtendClaimsCommand } from '../../../core/store/driver.js'
import type { Call } from '../connection/deadline.js'
import type { Namespace } from '../connection/namespace.js'
import { updatePlainly } from '../connection/plain-updates.js'
import { majority, readWithRetry } from '../connection/reads.js'
import { queueOfEvent, type QueueDocument } from '../documents/event-document.js'

/** Sets the end of claims that still hold, and returns the ids of their events. */
export async function extendClaims(
  namespace: Namespace,
  call: Call,
  { entries, until }: ExtendClaimsCommand,
): Promise<string[]> {
  const claims = entries.flatMap(({ id, claim }) => {
    const queue = queueOfEvent(id)
    return queue === null ? [] : [{ id, claim, queue }]
  })
  if (claims.length === 0) return []
  const updates = claims.map(({ id, claim, queue }) => ({
    q: { _id: queue, claim, head: id },
    u: { $set: { ripeAt: until } },
  }))
  const extended = await updatePlainly(namespace, call, namespace.events, updates)
  if (extended === claims.length) return claims.map(({ id }) => id)

  const ids = claims.map(({ queue }) => queue)
  // A claim that holds now has held during the update too, since no token is used twice. But if it is unknown which
  // updates had an effect, the end of the claim must tell.
  const filter = { _id: { $in: ids }, ...(extended === null && { ripeAt: until }) }
  const queues = await readWithRetry(namespace, call, (session) =>
    namespace.events
      .find<QueueDocument>(filter, { session, ...majority(), batchSize: claims.length + 1, hint: '_id_' })
      .toArray(),
  )
  const held = new Map(queues.map(({ head, claim }) => [head, claim]))
  return claims.filter(({ id, claim }) => held.get(id) === claim).map(({ id }) => id)
}
