import type { ClientSession, Collection } from 'mongodb'
import type { KeyChange } from '../../../core/store/lifecycle.js'
import { runCommand, type Place, type Stored } from '../connection/place.js'
import { historyDocument } from '../documents/history-document.js'
import { keyDocument, keyId } from '../documents/key-document.js'
import { leftoverDocument } from '../documents/leftover-document.js'
import { increment, sumChanges, type SumChanges } from '../documents/scope-document.js'

/** A statement of an `update` command. */
interface Update {
  readonly q: { readonly _id: string }
  readonly u: object
  readonly upsert: true
}

export interface ApplyOptions {
  /** Whether the documents of keys that become free are gone already. Default `false`. */
  readonly keysAreRemoved?: boolean
}

/** Writes what has changed at keys of a transaction that has read them, and the sums of their scopes. */
export async function applyChanges(
  place: Place,
  session: ClientSession,
  changes: readonly KeyChange[],
  { keysAreRemoved = false }: ApplyOptions = {},
): Promise<void> {
  if (changes.length === 0) return
  const kept = changes.map(({ after }) => keyDocument(after)).filter((document) => document !== null)
  const free = changes.filter(({ after }) => keyDocument(after) === null).map(({ row }) => keyId(row))
  const history = changes.flatMap(({ history }) => (history ? [historyDocument(history)] : []))
  const leftovers = changes.flatMap((change) => change.leftovers.map(leftoverDocument))

  await update(place, session, place.objects, [...kept.map(replacement), ...sumUpdates(sumChanges(changes))])
  if (!keysAreRemoved) await removeAll(place, session, place.objects, free)
  await update(place, session, place.history, history.map(replacement))
  await update(place, session, place.leftovers, leftovers.map(replacement))
}

/** Changes the document of a scope, so that from here on every other transaction that changes it is undone. */
export async function takeTurn(place: Place, session: ClientSession, scope: string): Promise<void> {
  const updates = [{ q: { _id: scope }, u: { $inc: { turns: 1n } } }]
  await runCommand(place, { update: place.objects.collectionName, updates }, session)
}

/** The statements that add to the sums of scopes. */
export function sumUpdates(changes: SumChanges): Update[] {
  return [...changes].map(([scope, sums]) => ({ q: { _id: scope }, u: increment(sums), upsert: true }))
}

export async function update(
  place: Place,
  session: ClientSession,
  { collectionName }: Collection<Stored>,
  updates: readonly Update[],
): Promise<void> {
  if (updates.length > 0) await runCommand(place, { update: collectionName, updates }, session)
}

/** Removes documents by their `_id`, none of which may be missing unless that is what was asked for. */
async function removeAll(
  place: Place,
  session: ClientSession,
  { collectionName }: Collection<Stored>,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const deletes = [{ q: { _id: { $in: ids } }, limit: 0 }]
  await runCommand(place, { delete: collectionName, deletes }, session)
}

/** Whether there is such a document or not: the transaction knows, and meets whoever has changed that. */
function replacement(document: Stored): Update {
  return { q: { _id: document._id }, u: document, upsert: true }
}
