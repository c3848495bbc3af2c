import type { ClientSession, MongoClient } from 'mongodb'

/**
 * The first bytes of the id of every session that runs a transaction of an adapter: `svc-db`, then 8 as the version of
 * the UUID, which is for formats of one's own. Drivers make random ids, with version 4.
 */
const MARK = Uint8Array.of(...new TextEncoder().encode('svc-db'), 0x80)

/** Sessions that run no transaction at the moment. */
const idle = new WeakMap<MongoClient, ClientSession[]>()

/**
 * Returns a session whose id shows other processes that its transactions are of an adapter. Its id is kept for later
 * transactions, because the server remembers each id for half an hour.
 */
export function takeSession(client: MongoClient): ClientSession {
  const free = idle.get(client) ?? []
  idle.set(client, free)
  // Closing the client ends its sessions.
  for (let session = free.pop(); session; session = free.pop()) if (!session.hasEnded) return session
  return marked(client.startSession({ causalConsistency: true }))
}

/** Takes a session back whose transaction has ended. */
export function keepSession(client: MongoClient, session: ClientSession): void {
  // Otherwise, the next transaction would wait for this time, which a new primary may never have reached.
  delete session.operationTime
  idle.get(client)?.push(session)
}

/** Returns whether the id of a session is one that {@link takeSession} has made, in any process. */
export function isMarked(id: Uint8Array): boolean {
  return MARK.every((byte, index) => id[index] === byte)
}

/** Changes the id of a new session. When the session ends, the driver gives the id to others, so it then gets its own again. */
function marked(session: ClientSession): ClientSession {
  const id = session.id?.id.buffer
  if (id?.length !== 16) return session
  const own = Uint8Array.from(id)
  const random = crypto.getRandomValues(new Uint8Array(16 - MARK.length))
  id.set([...MARK, ...random])
  id[8] = 0x80 | (id[8]! & 0x3f)
  session.once('ended', () => id.set(own))
  return session
}
