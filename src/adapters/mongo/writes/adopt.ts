import type { Document } from 'mongodb'
import { compareBytes, keyId } from '../../../core/names.js'
import type { AdoptCommand } from '../../../core/store/driver.js'
import { receivesBytes } from '../../../core/store/lifecycle/plans.js'
import type { KeyChange } from '../../../core/store/lifecycle/change.js'
import type { Leftover, StorageObject } from '../../../core/store/records.js'
import type { Update } from '../connection/namespace.js'
import type { Transaction } from '../connection/transactions.js'
import { liveRows, rangeOfBucket, type KeyDocument } from '../documents/key-document.js'
import { readLeftover, type LeftoverDocument } from '../documents/traces.js'

/** Returns where bytes are, which is unique to them. */
function nameOf({ bucket, key, storageKey }: Pick<Leftover, 'bucket' | 'key' | 'storageKey'>): string {
  return keyId({ bucket, key: storageKey ?? key })
}

export interface PossibleNames {
  readonly keys: Iterable<KeyDocument>
  readonly leftovers: readonly Leftover[]
  readonly changes: readonly KeyChange[]
}

/** Returns what names the bytes of an adoption: see `WriteState`. */
export function knownBytes(
  command: AdoptCommand,
  { keys, leftovers, changes }: PossibleNames,
): StorageObject | 'leftover' | null {
  const names = (named: StorageObject | Leftover) => nameOf(named) === nameOf(command)
  const current = new Map([...keys].map((document) => [document._id, liveRows(document)]))
  for (const { row, after } of changes) current.set(keyId(row), after)
  const [row] = [...current.values()]
    .flatMap(({ active, pending }) => [active, pending])
    .filter((row) => row !== null)
    .filter((row) => names(row) && !receivesBytes(row, command))
    // 'active' sorts before 'pending'.
    .sort((a, b) => compareBytes(a.status, b.status) || compareBytes(a.key, b.key))
  if (row) return row
  const isLeft = [...leftovers, ...changes.flatMap((change) => change.leftovers)].some(names)
  return isLeft ? 'leftover' : null
}

/** Builds filters that match the documents of all keys with a row that names the bytes of an adoption. */
export function keysNaming(commands: readonly AdoptCommand[]): Document[] {
  if (commands.length === 0) return []
  // Each is a range of an index. Those by storage key are partial, so their filters repeat the condition.
  return [
    { _id: { $in: commands.map(nameOf) } },
    ...byStorageKey(commands, 'active.storageKey', '_id', { 'active.id': { $exists: true } }),
    ...byStorageKey(commands, 'pending.storageKey', '_id', { 'pending.id': { $exists: true } }),
  ]
}

export async function findLeftoversNaming(
  { namespace, session }: Transaction,
  commands: readonly AdoptCommand[],
): Promise<Leftover[]> {
  if (commands.length === 0) return []
  const byKey = { storageKey: null, at: { $in: commands.map(nameOf) } }
  const documents = await namespace.leftovers
    .find<LeftoverDocument>(
      { $or: [byKey, ...byStorageKey(commands, 'storageKey', 'at')] },
      { session, batchSize: 1000 },
    )
    .toArray()
  return documents.map(readLeftover)
}

function byStorageKey(
  commands: readonly AdoptCommand[],
  storageKeyField: string,
  idField: string,
  more: Document = {},
): Document[] {
  const buckets = [...new Set(commands.map(({ bucket }) => bucket))]
  return buckets.map((bucket) => {
    const ofBucket = commands.filter((command) => command.bucket === bucket)
    const storageKeys = ofBucket.map(({ storageKey }) => storageKey)
    return { ...more, [storageKeyField]: { $in: storageKeys }, [idField]: rangeOfBucket(bucket) }
  })
}

/** The number of lock documents. Two batches of 64 adoptions rarely share one by chance. */
const LOCKS = 65_536

/**
 * Builds the statements that lock the bytes of adoptions. Otherwise two of the same bytes under keys of different
 * scopes would both succeed. `_id` starts with NUL, unlike that of keys and scopes.
 */
export function byteLocks(commands: readonly AdoptCommand[]): Update[] {
  const locks = new Set(commands.map((command) => hashOf(nameOf(command)) % LOCKS))
  return [...locks]
    .sort((a, b) => a - b)
    .map((lock) => ({ q: { _id: `\0bytes ${lock}` }, u: { $inc: { turns: 1n } }, upsert: true }))
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
