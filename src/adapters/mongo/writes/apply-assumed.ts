import type { ClientSession, Document } from 'mongodb'
import { scopeOf, type KeyChange } from '../../../core/store/lifecycle/change.js'
import { long } from '../connection/bson.js'
import { serverCode } from '../connection/failures.js'
import { runCommand, type Namespace } from '../connection/namespace.js'
import type { NewEvent } from '../documents/event-document.js'
import { keyDocument } from '../documents/key-document.js'
import { increment, sumChanges } from '../documents/scope-document.js'
import { insert, MANY, recordTraces, replacement, type Update } from './apply-changes.js'
import type { AssumedChanges } from './assumptions.js'

const DUPLICATE_KEY = 11000

/** The server would choose this index too, but choosing takes time in every statement. */
const BY_ID = '_id_'

/**
 * Writes changes within a transaction that has not read the keys, and lets the server check what was assumed: rows at keys
 * are as in `before`, and the scopes exist and have room. Returns `false` if anything is different. The transaction MUST
 * then be aborted, because some of the statements took effect.
 */
export async function applyAssumed(
  namespace: Namespace,
  session: ClientSession,
  assumed: readonly AssumedChanges[],
  events: readonly NewEvent[],
): Promise<boolean> {
  const changes = assumed.flatMap(({ changes }) => changes)
  const isNew = ({ before }: KeyChange) => scopeOf(before) === null
  const areInserted = changes.filter(isNew).length >= MANY
  const inserted = areInserted ? changes.filter(isNew) : []
  const updated = areInserted ? changes.filter((change) => !isNew(change)) : changes
  const updates = [...updated.map(keyUpdate), ...assumed.map(sumUpdate)]
  const upserts = updates.filter(({ upsert }) => upsert).length
  try {
    const documents = inserted.map(({ after }) => keyDocument(after)!)
    await insert(namespace, session, namespace.objects, documents)
    const { collectionName } = namespace.objects
    const response = await runCommand(namespace, { update: collectionName, updates }, session)
    const upserted = (response['upserted'] ?? []) as readonly unknown[]
    // A key that was free was inserted, and every other filter matched.
    if (response['n'] !== updates.length || upserted.length !== upserts) return false
  } catch (error) {
    if (serverCode(error) === DUPLICATE_KEY) return false
    throw error
  }
  await recordTraces(namespace, session, changes, events)
  return true
}

/** Builds the statement that creates the document of a key, or replaces one that holds exactly the rows before. */
function keyUpdate({ before, after }: KeyChange): Update {
  const document = keyDocument(after)!
  const replaced = keyDocument(before)
  if (replaced === null) return replacement(document)
  const q = { active: { $exists: false }, pending: { $exists: false }, ...replaced }
  return { q, u: document, upsert: false, hint: BY_ID }
}

function sumUpdate({ scope, changes, most: { bytes, files } }: AssumedChanges): Update {
  const u = increment(sumChanges(changes).get(scope)!)
  // A filter on the `_id` alone is much faster.
  if (bytes === null && files === null) return { q: { _id: scope }, u, upsert: false }
  const limits: Document[] = []
  if (bytes !== null) limits.push(usesAtMost('bytes', 'reservedBytes', bytes))
  if (files !== null) limits.push(usesAtMost('files', 'reservedFiles', files))
  const q = { _id: scope, $expr: { $and: limits } }
  return { q, u, upsert: false, hint: BY_ID }
}

/** Compares the sum of two fields. A missing one counts as zero. */
function usesAtMost(used: string, reserved: string, most: number): Document {
  const sum = { $add: [{ $ifNull: [`$${used}`, 0] }, { $ifNull: [`$${reserved}`, 0] }] }
  return { $lte: [sum, long(most)] }
}
