import type { Document } from 'mongodb'
import { keyId } from '../../../core/names.js'
import { NOTHING_LIVE, scopeOf, usageOf, type KeyChange } from '../../../core/store/lifecycle/change.js'
import { decide, scopesGiven, type Decision, type KeyWrite } from '../../../core/store/lifecycle/decide.js'
import { planRemove, planReserve } from '../../../core/store/lifecycle/plans.js'
import type { AdoptCommand } from '../../../core/store/driver.js'
import type { ScopeUsage } from '../../../core/store/records.js'
import { NO_USAGE, usageAfter } from '../../../core/store/lifecycle/usage.js'
import { long } from '../connection/bson.js'
import { runCommand, type Stored } from '../connection/namespace.js'
import type { Transaction } from '../connection/transactions.js'
import { keyDocument, liveRows, type KeyDocument } from '../documents/key-document.js'
import { increment, readSums, sumChanges, usageIn } from '../documents/scope-document.js'
import type { NewEvent } from '../documents/event-document.js'
import { applyChanges, replacement } from './commands.js'
import { byteLocks, findLeftoversNaming, keysNaming, knownBytes } from './adopt.js'

export interface DecideOptions {
  /** The scopes that the writes may change, beside those that they name. */
  readonly scopes: Iterable<string>
  /** Called with the scope that has a key as soon as it was read, even if the transaction fails later. */
  readonly onScope: (key: string, scope: string) => void
  readonly recordsEvents: boolean
}

/**
 * Runs writes of different keys within a transaction, in order, each on the result of the previous ones. Takes one
 * command to read and one to write; adopting, freeing keys, history and leftovers take one more each.
 */
export async function decideAndWrite(
  transaction: Transaction,
  writes: readonly KeyWrite[],
  { scopes, onScope, recordsEvents }: DecideOptions,
): Promise<Decision[]> {
  const [only, ...more] = writes
  if (only?.kind === 'remove' && more.length === 0) {
    const removed = await removeKey(transaction, only, { onScope, recordsEvents })
    if (removed) return [removed]
  }
  const { keys, usages } = await findAll(transaction, writes, scopes)
  for (const [key, { scope }] of keys) onScope(key, scope)
  const leftovers = await findLeftoversNaming(transaction, adoptionsIn(writes))
  const changes: KeyChange[] = []
  const adopted: AdoptCommand[] = []
  const events: NewEvent[] = []
  const results = writes.map((write) => {
    const decision = decide(write, {
      live: liveRows(keys.get(keyId(write.command))),
      usage: (scope) => usages.get(scope) ?? NO_USAGE,
      known: (command) => knownBytes(command, { keys: keys.values(), leftovers, changes }),
    })
    if (decision.outcome === 'change') {
      changes.push(decision)
      if (isAdopt(write)) adopted.push(write.command)
      if (recordsEvents) events.push(...eventsOf(write, decision))
      chargeUsage(usages, decision)
    }
    return decision
  })
  await applyChanges(transaction, changes, { events, more: byteLocks(adopted) })
  return results
}

/**
 * Removes everything at a key by one command. Returns `null` if the write names an attempt other than the active row's:
 * it may be the pending one, which goes alone.
 */
async function removeKey(
  transaction: Transaction,
  write: KeyWrite<'remove'>,
  { onScope, recordsEvents }: Omit<DecideOptions, 'scopes'>,
): Promise<Decision | null> {
  const { scope, attemptId } = write.command
  const filter = {
    _id: keyId(write.command),
    ...(scope !== null && { scope }),
    ...(attemptId !== null && { 'active.attemptId': attemptId }),
  }
  const { namespace, session } = transaction
  const removed = await namespace.objects.findOneAndDelete(filter, { session })
  if (!removed && attemptId !== null) return null
  if (removed && isOfKey(removed)) onScope(removed._id, removed.scope)
  const decision = planRemove(liveRows(removed as KeyDocument | null), write.command)
  if (decision.outcome === 'change') {
    const events = recordsEvents ? eventsOf(write, decision) : []
    await applyChanges(transaction, [decision], { keysAreRemoved: true, events })
  }
  return decision
}

/**
 * Reserves without reading, as if the key were free and the scope had a document. Returns `null` if that is wrong or
 * the scope has no room. The transaction MUST then be aborted.
 */
export async function reserveFreeKey(
  { namespace, session }: Transaction,
  { command }: KeyWrite<'reserve'>,
): Promise<Decision | null> {
  const change = planReserve(NOTHING_LIVE, NO_USAGE, command)
  if (change.outcome !== 'change') return null
  const { scope, declaredSize, quota } = command
  const limits = [
    usesAtMost(['bytes', 'reservedBytes'], Math.min(quota.maxBytes ?? MAX_SUM, MAX_SUM) - declaredSize),
    ...(quota.maxFiles === null ? [] : [usesAtMost(['files', 'reservedFiles'], quota.maxFiles - 1)]),
  ]
  const updates = [
    {
      q: { _id: scope, $expr: { $and: limits } },
      u: increment(sumChanges([change]).get(scope)!),
      upsert: false,
      // The server would choose this index too, but choosing takes time.
      hint: '_id_',
    },
    replacement(keyDocument(change.after)!),
  ]
  const response = await runCommand(namespace, { update: namespace.objects.collectionName, updates }, session)
  const inserted = (response['upserted'] ?? []) as readonly unknown[]
  return response['n'] === updates.length && inserted.length === 1 ? change : null
}

const MAX_SUM = Number.MAX_SAFE_INTEGER

/** Compares the sum of two fields. A missing one counts as zero. */
function usesAtMost(fields: readonly [string, string], most: number): Document {
  return { $lte: [{ $add: fields.map((field) => ({ $ifNull: [`$${field}`, 0] })) }, long(most)] }
}

function eventsOf({ command }: KeyWrite, { event }: KeyChange): NewEvent[] {
  return event ? [{ ...event, createdAt: command.now }] : []
}

function isAdopt(write: KeyWrite): write is KeyWrite<'adopt'> {
  return write.kind === 'adopt'
}

function adoptionsIn(writes: readonly KeyWrite[]): AdoptCommand[] {
  return writes.filter(isAdopt).map(({ command }) => command)
}

async function findAll(transaction: Transaction, writes: readonly KeyWrite[], known: Iterable<string>) {
  const ids = writes.map(({ command }) => keyId(command))
  const scopes = [...known, ...writes.flatMap(scopesGiven)]
  const first = await findById(transaction, [...ids, ...scopes], keysNaming(adoptionsIn(writes)))
  const keys = new Map(first.filter(isOfKey).map((document) => [document._id, document]))
  // Rarely any: the write names no scope and another process reserved the key, or gave it to another scope. A `$lookup` would
  // read these along, but not from a sharded collection.
  const otherScopes = writes.filter(needsUsageOfOwner).flatMap(({ command }) => {
    const scope = keys.get(keyId(command))?.scope
    return scope === undefined || scopes.includes(scope) ? [] : [scope]
  })
  const more = otherScopes.length > 0 ? await findById(transaction, otherScopes) : []
  const sums = [...first, ...more].filter((document) => !isOfKey(document))
  return { keys, usages: new Map(sums.map((document) => [document._id, usageIn(readSums(document))])) }
}

async function findById(
  { namespace, session }: Transaction,
  ids: readonly string[],
  others: readonly Document[] = [],
): Promise<Stored[]> {
  const distinct = [...new Set(ids)]
  const byId = { _id: { $in: distinct } }
  const filter = others.length > 0 ? { $or: [byId, ...others] } : byId
  // One batch, unless several rows name the same bytes.
  const batchSize = (others.length > 0 ? 2 : 1) * distinct.length + 1
  return namespace.objects.find(filter, { session, batchSize }).toArray()
}

/** Returns whether a write checks the quota of the scope that has the key, without naming that scope. */
function needsUsageOfOwner(write: KeyWrite): boolean {
  return write.kind === 'confirm' && scopesGiven(write).length === 0
}

function isOfKey(document: Stored): document is KeyDocument {
  return document._id.includes('\0')
}

/** Applies a change to the usages, which later writes of the transaction see. */
function chargeUsage(usages: Map<string, ScopeUsage>, { before, after }: KeyChange): void {
  const charge = (scope: string | null, removed: ScopeUsage, added: ScopeUsage) => {
    if (scope !== null) usages.set(scope, usageAfter(usages.get(scope) ?? NO_USAGE, removed, added))
  }
  charge(scopeOf(before), usageOf(before), NO_USAGE)
  charge(scopeOf(after), NO_USAGE, usageOf(after))
}
