import type { Document } from 'mongodb'
import { createAttemptId } from '../../../core/store/attempt-id.js'
import { CLAIM_LOOKAHEAD } from '../../../core/store/inputs/index.js'
import type { ClaimEventsCommand, EventClaim, ExtendClaimsCommand } from '../../../core/store/driver.js'
import type { StoredEvent } from '../../../core/store/events.js'
import { endAbandoned } from '../connection/abandoned.js'
import { abandonedError, type Call } from '../connection/deadline.js'
import { serverCode, TIME_LIMIT_EXCEEDED } from '../connection/failures.js'
import { rememberCommit, runCommand, type Namespace, type Update } from '../connection/namespace.js'
import { majority, readWithRetry } from '../connection/reads.js'
import {
  type EventDocument,
  type QueueDocument,
  queueIdOf,
  inQueues,
  type InQueue,
  readEvent,
} from '../documents/event-document.js'

/** A queue whose oldest event can be claimed. `oldest` holds that event, unless it was settled meanwhile. */
type Candidate = QueueDocument & { readonly oldest: readonly EventDocument[] }

/** A queue and its oldest event, with the claim to write. */
interface Claim {
  readonly queue: QueueDocument
  readonly event: EventDocument
  readonly claim: string
}

/** How many times as many candidates as needed to draw from at most. */
const MAX_WINDOW = 64
/** Maximum queues to draw from. */
const MAX_DRAWN = 6400
/** How often to draw again if other processes claimed all candidates. */
const MAX_DRAWS = 6

/** Milliseconds to wait for transactions that write to the same documents, which a dead process can leave open. */
const LONGEST_WAIT = 1000

/**
 * Creates the claims of events. All processes would try those that are due first, so a process has one claim in flight,
 * and draws from more candidates than it needs as long as it loses some of them to others.
 */
export function createClaims(namespace: Namespace) {
  const { events } = namespace
  const oldest = { from: events.collectionName, localField: 'head', foreignField: '_id', as: 'oldest' }
  let window = 1
  let last: Promise<unknown> = Promise.resolve()

  async function claimDue(call: Call, command: ClaimEventsCommand): Promise<StoredEvent[]> {
    for (let draws = 1; ; draws++) {
      if (call.hasTimedOut) return []
      const candidates = await findDue(call, command)
      const claimed = await claim(call, command, candidates)
      window = claimed.length < candidates.length ? Math.min(2 * window, MAX_WINDOW) : Math.max(1, window / 2)
      if (claimed.length > 0 || candidates.length === 0 || draws === MAX_DRAWS) return claimed
    }
  }

  /** Finds the queues that are due first, or, with a larger window, some of those. */
  function findDue(call: Call, command: ClaimEventsCommand): Promise<Candidate[]> {
    const { limit, lastScopes } = command
    if (lastScopes.length > 0) return findOfOthers(call, command)
    const first: Document[] = [
      { $match: dueNow(command) },
      { $sort: { ripeAt: 1, _id: 1 } },
      { $limit: Math.min(limit * window, MAX_DRAWN) },
    ]
    const sample = window === 1 ? [] : [{ $sample: { size: limit } }]
    // In the order of the sample: a queue that another process blocks should not always come first.
    return findCandidates(call, [...first, ...sample], 'ripe')
  }

  /** Finds the queues that are due first, those of `lastScopes` after all others. */
  function findOfOthers(call: Call, command: ClaimEventsCommand): Promise<Candidate[]> {
    const { limit, lastScopes } = command
    const scope = { $arrayElemAt: ['$oldest.object.scope', 0] }
    return findCandidates(
      call,
      [
        { $match: dueNow(command) },
        { $sort: { ripeAt: 1, _id: 1 } },
        // Of each kind, if both are wanted.
        { $limit: (command.attempted === null ? 2 : 1) * Math.max(limit, CLAIM_LOOKAHEAD) },
        { $lookup: oldest },
        { $set: { isLast: { $in: [scope, { $literal: lastScopes }] } } },
        { $sort: { isLast: 1, ripeAt: 1, _id: 1 } },
        { $limit: limit },
      ],
      'ripe',
    )
  }

  /**
   * Runs a pipeline that yields queues, and adds the oldest event of each. If what it reads is rolled back, the claim
   * fails.
   */
  function findCandidates(call: Call, queues: readonly Document[], hint: string): Promise<Candidate[]> {
    const options = { readConcern: { level: 'local' }, batchSize: 1001, hint } as const
    return readWithRetry(namespace, call, ({ session }) =>
      events.aggregate<Candidate>([...queues, { $lookup: oldest }], { session, ...options }).toArray(),
    )
  }

  /** Claims the oldest event of each queue that nothing has changed since it was read. */
  async function claim(
    call: Call,
    command: ClaimEventsCommand,
    candidates: readonly Candidate[],
  ): Promise<StoredEvent[]> {
    const claims = candidates.flatMap(({ oldest, ...queue }) =>
      oldest.map((event) => ({ queue, event, claim: createAttemptId() })),
    )
    const held = await write(call, command, claims)
    const isLast = ({ event }: Claim) => Number(command.lastScopes.includes(event.object.scope))
    return held
      .toSorted((a, b) => isLast(a) - isLast(b) || a.queue.ripeAt.getTime() - b.queue.ripeAt.getTime())
      .map(({ queue, event, claim }) => ({
        ...readEvent(event),
        attempts: (queue.attempts ?? 0) + 1,
        claim,
        hasNext: queue.n > 1,
      }))
  }

  async function write(
    call: Call,
    command: ClaimEventsCommand,
    claims: readonly Claim[],
  ): Promise<readonly Claim[]> {
    if (claims.length === 0) return []
    const { now, until } = command
    const updates = claims.map(({ queue: { _id, head, attempts = null }, claim }) => ({
      q: { _id, head, attempts, ripeAt: { $lte: now } },
      // The server might prefer the index `ripe`, which has many keys in that range.
      hint: '_id_',
      u: { $set: { claim, ripeAt: until, tried: true }, $inc: { attempts: 1 } },
    }))
    const claimed = await update(call, updates)
    if (claimed === claims.length) return claims
    const ids = claims.map(({ queue }) => queue._id)
    const written = new Set((await findQueues(call, ids)).map((queue) => queue.claim))
    const held = claims.filter(({ claim }) => written.has(claim))
    // If a busy server only ran out of time, it writes some of the rest at each try. What it doesn't write is blocked.
    if (claimed !== null || held.length === 0 || call.hasTimedOut) return held
    const rest = claims.filter(({ claim }) => !written.has(claim))
    return [...held, ...(await write(call, command, rest))]
  }

  /**
   * Runs independent, idempotent updates without a transaction. Returns how many documents the last try found, or
   * `null` if it waited for too long, so that some had no effect.
   */
  function update(call: Call, updates: readonly Update[]): Promise<number | null> {
    const command = {
      ...{ update: events.collectionName, updates, ordered: false },
      ...{ writeConcern: { w: 'majority' }, maxTimeMS: LONGEST_WAIT },
    }
    return readWithRetry(namespace, call, async ({ session }) => {
      try {
        const { n, writeConcernError } = await runCommand(namespace, command, session)
        return writeConcernError ? null : Number(n)
      } catch (error) {
        if (serverCode(error) !== TIME_LIMIT_EXCEEDED) throw error
        endAbandoned(namespace, call)
        return null
      } finally {
        rememberCommit(namespace.clock, session)
      }
    })
  }

  function findQueues(call: Call, ids: readonly string[]): Promise<QueueDocument[]> {
    const batchSize = ids.length + 1
    return readWithRetry(namespace, call, ({ session }) =>
      events.find<QueueDocument>({ _id: { $in: ids } }, { session, ...majority(), batchSize }).toArray(),
    )
  }

  /** Returns how many of the claims hold. A queue that a transaction blocks holds up only its own claim. */
  async function extend(call: Call, claims: readonly InQueue<EventClaim>[], until: Date): Promise<number> {
    const updates = claims.map(({ id, claim, queue }) => ({
      q: { _id: queue, claim, head: id },
      u: { $set: { ripeAt: until } },
    }))
    while (!call.hasTimedOut) {
      const extended = await update(call, updates)
      if (extended !== null) return extended
      if (claims.length === 1) continue
      const each = await Promise.all(claims.map((claim) => extend(call, [claim], until)))
      return each.reduce((sum, count) => sum + count, 0)
    }
    throw abandonedError(call.lastError)
  }

  return {
    async claim(call: Call, command: ClaimEventsCommand): Promise<StoredEvent[]> {
      if (command.reference) {
        const queue = await queueIdOf(command.reference)
        const own = [{ $match: { _id: queue, ...dueNow(command) } }]
        return claim(call, command, await findCandidates(call, own, '_id_'))
      }
      const result = last.then(() => claimDue(call, command))
      last = Promise.race([result.catch(() => {}), call.timedOut])
      return result
    },

    /** Sets the end of claims that still hold, and returns the ids of their events. */
    async extend(call: Call, { entries, until }: ExtendClaimsCommand): Promise<string[]> {
      const claims = inQueues(entries)
      if (claims.length === 0) return []
      const extended = await extend(call, claims, until)
      if (extended === claims.length) return claims.map(({ id }) => id)

      // A claim that holds now has held during the update too, since no token is used twice.
      const ids = claims.map(({ queue }) => queue)
      const held = new Map((await findQueues(call, ids)).map(({ head, claim }) => [head, claim]))
      return claims.filter(({ id, claim }) => held.get(id) === claim).map(({ id }) => id)
    },
  }
}

/** Matches the queues whose oldest event is due. The server merges the two ranges of the index if both kinds are wanted. */
function dueNow({ now, attempted }: ClaimEventsCommand): Document {
  return { tried: attempted ?? { $in: [false, true] }, ripeAt: { $lte: now } }
}
