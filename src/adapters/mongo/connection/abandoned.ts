import type { Binary, MongoClient } from 'mongodb'
import type { Call } from './deadline.js'
import { runCommand, type Namespace } from './namespace.js'
import { isMarked } from './sessions.js'

/** Milliseconds that a call is blocked before it looks for abandoned transactions. */
const PATIENCE = 1000
/** Milliseconds between two looks of a process. */
const INTERVAL = 1000
/** Milliseconds without a command after which a transaction counts as abandoned. Those of adapters pause for a round trip. */
const LONGEST_PAUSE = 5000

/** What `$currentOp` returns of an operation, or of a transaction that is idle between two. */
interface Operation {
  readonly active: boolean
  readonly lsid: { readonly id: Binary }
  readonly transaction?: {
    readonly parameters: { readonly txnNumber: number }
    readonly timeActiveMicros: number
  }
}

/** A session that was idle within a transaction when it was last seen. */
interface IdleSession {
  readonly id: Binary
  /** Changes with every command of the session. */
  readonly activity: string
  /** A time after this activity was first seen. */
  readonly since: number
}

interface Looks {
  /** When the last look ended. Infinite while one is in progress. */
  last: number
  idle: ReadonlyMap<string, IdleSession>
}

const looks = new WeakMap<MongoClient, Looks>()

/**
 * Ends transactions of adapters that have run no command for five seconds, once a call is blocked for a second: the process is
 * dead or frozen. One that was only slow gets an error that says so, and repeats its transaction.
 *
 * Does not wait. It fails where the user may not see transactions, such as without `inprog` through a router. The server
 * then ends them after `transactionLifetimeLimitSeconds`.
 */
export function endAbandoned(namespace: Namespace, call: Call): void {
  const now = performance.now()
  const known = looks.get(namespace.client) ?? { last: -Infinity, idle: new Map() }
  if (now - call.since < PATIENCE || now - known.last < INTERVAL) return
  looks.set(namespace.client, known)
  known.last = Infinity
  void look(namespace, known)
    .catch(() => {})
    .finally(() => (known.last = performance.now()))
}

async function look(namespace: Namespace, known: Looks): Promise<void> {
  const start = performance.now()
  const found = await findIdle(namespace)
  const seenAt = performance.now()
  const idle = new Map<string, IdleSession>()
  for (const { id, key, activity } of found) {
    const before = known.idle.get(key)
    const since = before?.activity === activity ? before.since : seenAt
    idle.set(key, { id, activity, since })
  }
  known.idle = idle
  const abandoned = [...idle.values()].filter(({ since }) => start - since >= LONGEST_PAUSE)
  if (abandoned.length > 0) {
    await runCommand(namespace, { killSessions: abandoned.map(({ id }) => ({ id })) })
  }
}

/** Returns the sessions of adapters that are in a transaction and run no command on any shard. */
async function findIdle({ openDatabase }: Namespace) {
  const operations = await openDatabase('admin')
    .aggregate<Operation>([
      // Those of this user: seeing others takes a privilege.
      { $currentOp: { allUsers: false, idleSessions: true } },
      { $match: { 'lsid.id': { $exists: true } } },
    ])
    .toArray()
  const ofSessions = new Map<string, Operation[]>()
  for (const operation of operations) {
    const { buffer } = operation.lsid.id
    if (!isMarked(buffer)) continue
    const key = buffer.join()
    ofSessions.set(key, [...(ofSessions.get(key) ?? []), operation])
  }
  return [...ofSessions]
    .filter(([, ofSession]) => ofSession.every(({ active, transaction }) => !active && transaction))
    .map(([key, ofSession]) => ({ key, id: ofSession[0]!.lsid.id, activity: activityOf(ofSession) }))
}

/** On a sharded cluster, a session has a transaction on each shard. */
function activityOf(operations: readonly Operation[]): string {
  return operations
    .map(({ transaction }) => `${transaction!.parameters.txnNumber} ${transaction!.timeActiveMicros}`)
    .sort()
    .join()
}
