import type { EventClaim, ExtendClaimsCommand } from '../../../core/store/driver.js'
import { abandonedError, type Call } from '../connection/deadline.js'
import type { Namespace } from '../connection/namespace.js'
import { updatePlainly } from '../connection/plain-updates.js'
import { majority, readWithRetry } from '../connection/reads.js'
import { queueOfEvent, type QueueDocument } from '../documents/event-document.js'

/** A claim on an event whose id has the right form. */
interface QueueClaim extends EventClaim {
  /** The `_id` of the event's queue. */
  readonly queue: string
}

/** Sets the end of claims that still hold, and returns the ids of their events. */
export async function extendClaims(
  namespace: Namespace,
  call: Call,
  { entries, until }: ExtendClaimsCommand,
): Promise<string[]> {
  const claims = entries.flatMap((entry) => {
    const queue = queueOfEvent(entry.id)
    return queue === null ? [] : [{ ...entry, queue }]
  })
  if (claims.length === 0) return []
  const extended = await extend(namespace, call, claims, until)
  if (extended === claims.length) return claims.map(({ id }) => id)

  // A claim that holds now has held during the update too, since no token is used twice.
  const filter = { _id: { $in: claims.map(({ queue }) => queue) } }
  const queues = await readWithRetry(namespace, call, (session) =>
    namespace.events
      .find<QueueDocument>(filter, { session, ...majority(), batchSize: claims.length + 1 })
      .toArray(),
  )
  const held = new Map(queues.map(({ head, claim }) => [head, claim]))
  return claims.filter(({ id, claim }) => held.get(id) === claim).map(({ id }) => id)
}

/** Returns how many of the claims hold. A queue that a transaction blocks holds up only its own claim. */
async function extend(
  namespace: Namespace,
  call: Call,
  claims: readonly QueueClaim[],
  until: Date,
): Promise<number> {
  const updates = claims.map(({ id, claim, queue }) => ({
    q: { _id: queue, claim, head: id },
    u: { $set: { ripeAt: until } },
  }))
  while (!call.hasTimedOut) {
    const extended = await updatePlainly(namespace, call, namespace.events, updates)
    if (extended !== null) return extended
    if (claims.length === 1) continue
    const each = await Promise.all(claims.map((claim) => extend(namespace, call, [claim], until)))
    return each.reduce((sum, count) => sum + count, 0)
  }
  throw abandonedError(call.lastError)
}
