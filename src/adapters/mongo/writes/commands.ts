import type { Collection } from 'mongodb'
import { keyId } from '../../../core/names.js'
import { scopeOf, type KeyChange } from '../../../core/store/lifecycle/change.js'
import { runCommand, type Stored, type Update } from '../connection/namespace.js'
import type { Transaction } from '../connection/transactions.js'
import { recordings, type NewEvent } from '../documents/event-document.js'
import { historyDocument, leftoverDocument } from '../documents/traces.js'
import { keyDocument } from '../documents/key-document.js'
import { rejectionDocument } from '../documents/rejection-document.js'
import { increment, sumChanges, type SumChanges } from '../documents/scope-document.js'

export interface ApplyOptions {
  /** Whether the documents of keys that become free are already removed. Default: `false`. */
  readonly keysAreRemoved?: boolean
  /** Whether many documents are replaced, too, because most of their index entries stay. Default: `false`. */
  readonly alwaysReplaces?: boolean
  readonly events?: readonly NewEvent[]
  /** Further statements for the collection of keys and scopes. */
  readonly more?: readonly Update[]
}

/** From this many documents on, the server is much faster with one insert and one removal than with replacements. */
const MANY = 8

/** Writes the changes of keys and of the sums of their scopes. The transaction MUST have read the keys. */
export async function applyChanges(
  transaction: Transaction,
  changes: readonly KeyChange[],
  { keysAreRemoved = false, alwaysReplaces = false, events = [], more = [] }: ApplyOptions = {},
): Promise<void> {
  if (changes.length === 0) return
  const documents = changes.map(({ after }) => keyDocument(after)).filter((document) => document !== null)
  const free = changes.filter(({ after }) => keyDocument(after) === null).map(({ row }) => keyId(row))
  const rejections = changes.flatMap(({ rejection }) => (rejection ? [rejectionDocument(rejection)] : []))
  const others = [...sumUpdates(sumChanges(changes)), ...rejections.map(replacement), ...more]
  const { objects } = transaction.namespace
  // The sums come first: who loses a scope to another transaction then holds none of the keys that the other may need.
  if (alwaysReplaces || documents.length < MANY) {
    await update(transaction, objects, [...others, ...documents.map(replacement)])
    if (!keysAreRemoved) await removeById(transaction, objects, free)
  } else {
    const there = changes.filter(({ before }) => scopeOf(before) !== null).map(({ row }) => keyId(row))
    await update(transaction, objects, others)
    await removeById(transaction, objects, there)
    await insert(transaction, objects, documents)
  }
  await recordTraces(transaction, changes, events)
}

/** Writes what changes leave in the other collections: history, leftovers and events. */
async function recordTraces(
  transaction: Transaction,
  changes: readonly KeyChange[],
  events: readonly NewEvent[],
): Promise<void> {
  const { namespace, session } = transaction
  const history = changes.flatMap(({ history }) => (history ? [historyDocument(history)] : []))
  const leftovers = changes.flatMap((change) => change.leftovers.map(leftoverDocument))
  await update(transaction, namespace.history, history.map(replacement))
  await update(transaction, namespace.leftovers, leftovers.map(replacement))
  if (events.length > 0) await update(transaction, namespace.events, await recordings(session, events))
}

/** Locks scopes by changing their documents: until the transaction ends, every other one that changes them fails. */
export async function lockScopes(transaction: Transaction, scopes: Iterable<string>): Promise<void> {
  // In one order, so that of two transactions that want the same scopes one fails at its first statement.
  const updates = [...scopes].sort().map((scope) => ({ q: { _id: scope }, u: { $inc: { turns: 1n } } }))
  await update(transaction, transaction.namespace.objects, updates)
}

export function sumUpdates(changes: SumChanges): Update[] {
  return [...changes].map(([scope, sums]) => ({ q: { _id: scope }, u: increment(sums), upsert: true }))
}

export async function update(
  { namespace, session }: Transaction,
  { collectionName }: Collection<Stored>,
  updates: readonly Update[],
): Promise<void> {
  if (updates.length > 0) await runCommand(namespace, { update: collectionName, updates }, session)
}

/** Creates documents. Another one with an `_id` of theirs makes the transaction fail. */
export async function insert(
  { namespace, session }: Transaction,
  { collectionName }: Collection<Stored>,
  documents: readonly Stored[],
): Promise<void> {
  if (documents.length > 0) await runCommand(namespace, { insert: collectionName, documents }, session)
}

export async function removeById(
  { namespace, session }: Transaction,
  { collectionName }: Collection<Stored>,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0
  const deletes = [{ q: { _id: { $in: ids } }, limit: 0 }]
  const { n } = await runCommand(namespace, { delete: collectionName, deletes }, session)
  return Number(n)
}

/** Builds a statement that creates or replaces a document. A concurrent change of it makes the transaction fail. */
export function replacement(document: Stored): Update {
  return { q: { _id: document._id }, u: document, upsert: true }
}
