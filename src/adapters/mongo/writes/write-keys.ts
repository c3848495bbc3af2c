import type { ClientSession } from 'mongodb'
import { NOTHING_LIVE, scopeOf, usageOf, type KeyChange } from '../../../core/store/lifecycle.js'
import type { ScopeUsage } from '../../../core/store/records.js'
import { NO_USAGE, usageAfter } from '../../../core/store/usage.js'
import type { Place, Stored } from '../connection/place.js'
import { keyId, liveRows, type KeyDocument } from '../documents/key-document.js'
import { readSums, usageIn } from '../documents/scope-document.js'
import { applyChanges } from './apply-changes.js'
import { planOf, scopeGiven, type KeyPlan, type KeyWrite } from './key-write.js'

/** What came of a write, and the scopes that it concerned. */
export interface KeyResult {
  readonly plan: KeyPlan
  readonly scopes: readonly string[]
}

export interface WriteKeysOptions {
  /** The scope that most of the writes concern, where it is known. */
  readonly scope: string | null
  /** Told the scope of what is at a key as soon as that was read, and so also where the transaction fails later. */
  readonly onScope?: (scope: string) => void
}

/** What is there when the writes begin. */
interface Found {
  readonly keys: ReadonlyMap<string, KeyDocument>
  readonly usages: Map<string, ScopeUsage>
}

/**
 * Carries out writes of different keys within a transaction, in their order: reads what they need, plans each on what the
 * ones before have left, writes what has changed. Commands on the wire: one to read, one to write, and one more for each
 * kind of thing that few writes do: removing the last row of a key, keeping history, recording leftovers.
 */
export async function writeKeys(
  place: Place,
  session: ClientSession,
  writes: readonly KeyWrite[],
  { scope: known, onScope = () => {} }: WriteKeysOptions,
): Promise<KeyResult[]> {
  const [only, ...more] = writes
  if (only?.kind === 'remove' && more.length === 0) return [await removeKey(place, session, only, onScope)]
  const { keys, usages } = await findAll(place, session, writes, known)
  for (const { scope } of keys.values()) onScope(scope)
  const changes: KeyChange[] = []
  const results = writes.map((write) => {
    const before = liveRows(keys.get(keyId(write.command)))
    const scope = scopeGiven(write) ?? scopeOf(before)
    const plan = planOf(write, before, (scope !== null && usages.get(scope)) || NO_USAGE)
    if (plan.outcome === 'change') {
      changes.push(plan)
      charge(usages, plan)
    }
    return { plan, scopes: scopesOf(write, plan, scopeOf(before)) }
  })
  await applyChanges(place, session, changes)
  return results
}

/** Whatever is at the key goes, so that it can be removed and read in one command. */
async function removeKey(
  place: Place,
  session: ClientSession,
  write: KeyWrite & { readonly kind: 'remove' },
  onScope: (scope: string) => void,
): Promise<KeyResult> {
  const { scope } = write.command
  const filter = { _id: keyId(write.command), ...(scope !== null && { scope }) }
  const removed = await place.objects.findOneAndDelete(filter, { session })
  if (removed && isOfKey(removed)) onScope(removed.scope)
  const before = liveRows(removed as KeyDocument | null)
  const plan = planOf(write, before, NO_USAGE)
  if (plan.outcome === 'change') await applyChanges(place, session, [plan], { keysAreRemoved: true })
  return { plan, scopes: scopesOf(write, plan, scopeOf(before)) }
}

async function findAll(
  place: Place,
  session: ClientSession,
  writes: readonly KeyWrite[],
  known: string | null,
): Promise<Found> {
  const ids = writes.map(({ command }) => keyId(command))
  const scopes = [known, ...writes.map(scopeGiven)].filter((scope) => scope !== null)
  const isAnyones = scopes.length === 0 && writes.some(growsAnyScope)
  const first = isAnyones
    ? await findWithScopes(place, session, ids)
    : await findById(place, session, [...ids, ...scopes])

  const keys = new Map(first.filter(isOfKey).map((document) => [document._id, document]))
  // Seldom any: the key of a write that names no scope has changed hands since its lane was found.
  const strangers = isAnyones
    ? []
    : writes.filter(growsAnyScope).flatMap(({ command }) => {
        const scope = keys.get(keyId(command))?.scope
        return scope === undefined || scopes.includes(scope) ? [] : [scope]
      })
  const more = strangers.length > 0 ? await findById(place, session, strangers) : []
  const sums = [...first, ...more].filter((document) => !isOfKey(document))
  return { keys, usages: new Map(sums.map((document) => [document._id, usageIn(readSums(document))])) }
}

async function findById(place: Place, session: ClientSession, ids: readonly string[]): Promise<Stored[]> {
  const distinct = [...new Set(ids)]
  return place.objects.find({ _id: { $in: distinct } }, { session, batchSize: distinct.length + 1 }).toArray()
}

/** A confirm that names no scope is held against the usage of whatever scope has the key. */
function growsAnyScope(write: KeyWrite): boolean {
  return write.kind === 'confirm' && scopeGiven(write) === null
}

async function findWithScopes(
  place: Place,
  session: ClientSession,
  ids: readonly string[],
): Promise<Stored[]> {
  const from = place.objects.collectionName
  const documents = await place.objects
    .aggregate<Stored & { usage: Stored[] }>(
      [
        { $match: { _id: { $in: ids } } },
        { $lookup: { from, localField: 'scope', foreignField: '_id', as: 'usage' } },
      ],
      { session, batchSize: ids.length + 1 },
    )
    .toArray()
  return documents.flatMap((document) => [document, ...document.usage])
}

function isOfKey(document: Stored): document is KeyDocument {
  return document._id.includes('\0')
}

/** Later writes of the transaction see the usage that this one leaves. */
function charge(usages: Map<string, ScopeUsage>, { before, after }: KeyChange): void {
  for (const [rows, sign] of [
    [before, -1],
    [after, 1],
  ] as const) {
    const scope = scopeOf(rows)
    if (scope === null) continue
    const usage = usages.get(scope) ?? NO_USAGE
    const [removed, added] = sign < 0 ? [usageOf(rows), NO_USAGE] : [NO_USAGE, usageOf(rows)]
    usages.set(scope, usageAfter(usage, removed, added))
  }
}

/** A repeat that finds its work done names them as well: whoever asked first may never have heard. */
function scopesOf(write: KeyWrite, plan: KeyPlan, scopeBefore: string | null): string[] {
  const after = plan.outcome === 'change' ? plan.after : NOTHING_LIVE
  return [...new Set([scopeGiven(write), scopeBefore, scopeOf(after)].filter((scope) => scope !== null))]
}
