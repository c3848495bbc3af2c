import type { MongoClient, ServerDescription, TopologyDescription } from 'mongodb'
import { StorageError } from '../../../core/errors.js'
import { databaseError } from './failures.js'

/** What the driver knows of the servers. */
type Topology = Pick<TopologyDescription, 'setName' | 'servers'>

/** Why a call has no server that accepts writes. */
export interface Unreachable {
  readonly message: string
  readonly cause: unknown
  readonly retryable: boolean
}

const watched = new WeakMap<MongoClient, { latest: Topology | null }>()

/** Begins to follow what the driver learns of the servers. */
export function watchTopology(client: MongoClient): void {
  if (watched.has(client)) return
  const known: { latest: Topology | null } = { latest: null }
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    // The last one of a topology that the driver closes says nothing.
    if (newDescription.type !== 'Unknown' || newDescription.servers.size > 0) known.latest = newDescription
  })
  watched.set(client, known)
}

/** Returns why the client has no server that accepts writes; `null` if it has one, or nothing is known. */
export function whyUnreachable(client: MongoClient): Unreachable | null {
  const topology = watched.get(client)?.latest ?? null
  return topology === null ? null : whyNoPrimary(topology)
}

/**
 * Returns whether members of the set respond but none is the primary, as during an election. The driver gives up after
 * `serverSelectionTimeoutMS`, which applications set to notice servers that don't respond.
 */
export function isBetweenPrimaries(error: unknown): boolean {
  const { name, reason } = Object(error) as { name?: unknown; reason?: Partial<Topology> }
  if (name !== 'MongoServerSelectionError' || reason?.servers === undefined) return false
  return [...reason.servers.values()].some(({ type }) => OF_SET.has(type))
}

/** Returns the error of the store for a call that the driver found no server for; `null` for other errors. */
export function selectionError(error: unknown): StorageError | null {
  const { name, reason } = Object(error) as { name?: unknown; reason?: Partial<Topology> }
  if (name !== 'MongoServerSelectionError' || reason?.servers === undefined) return null
  const why = whyNoPrimary({ servers: reason.servers, setName: reason.setName ?? null })
  if (why === null) return null
  const { message, retryable } = why
  return new StorageError('DATABASE_UNAVAILABLE', { message, cause: error, ...(!retryable && { retryable }) })
}

/** Types of servers that respond and are members of a set. `RSGhost` may be starting, or was never added to one. */
const OF_SET = new Set<string>(['RSSecondary', 'RSArbiter', 'RSOther', 'RSPrimary', 'PossiblePrimary'])
const WRITABLE = new Set<string>(['RSPrimary', 'Mongos', 'LoadBalancer', 'Standalone'])

function whyNoPrimary({ setName, servers }: Topology): Unreachable | null {
  const members = [...servers.values()]
  const has = (types: ReadonlySet<string>) => members.some(({ type }) => types.has(type))
  if (has(WRITABLE)) return null
  if (members.length === 0) {
    const message = `None of the servers in the URL is a member of the replica set "${setName}". Check replicaSet in the URL.`
    return { message, cause: undefined, retryable: false }
  }
  const responding = members.filter(({ type }) => OF_SET.has(type))
  if (responding.length > 0) {
    const failing = members.find(({ error }) => error !== null)
    return {
      message:
        `The replica set has no primary; ${responding.length} of ${members.length} members respond. ` +
        'An election is in progress, or too few members are left for a majority.',
      cause: failing?.error ?? undefined,
      retryable: true,
    }
  }
  const ghost = members.find(({ type }) => type === 'RSGhost')
  if (ghost) {
    const message = `${ghost.address} belongs to no replica set yet: run rs.initiate() once.`
    return { message, cause: undefined, retryable: true }
  }
  return whyNoServer(members)
}

function whyNoServer(members: readonly ServerDescription[]): Unreachable {
  const failed = members.find(({ error }) => error !== null)
  if (!failed?.error)
    return { message: 'No server of MongoDB has responded.', cause: undefined, retryable: true }
  const { address, error } = failed
  const known = databaseError(error)
  if (known instanceof StorageError && !known.retryable) {
    return { message: known.message, cause: error, retryable: false }
  }
  // A server that requires TLS closes a connection without it, and says no more.
  const advice = / closed$|TLS/.test(error.message)
    ? ' Check whether the server requires or accepts TLS.'
    : ''
  return {
    message: `No server of MongoDB responds: ${address} (${error.message}).${advice}`,
    cause: error,
    retryable: true,
  }
}
