import { keyId } from '../../../core/names.js'
import type { KeepCommand, KeepOutcome } from '../../../core/store/driver.js'
import type { KeyChange, LiveRows } from '../../../core/store/lifecycle/change.js'
import { planKeepOne, refuseKeep, rowToKeep } from '../../../core/store/lifecycle/temporary.js'
import { copyObject } from '../../../core/store/records.js'
import type { Transaction } from '../connection/transactions.js'
import type { NewEvent } from '../documents/event-document.js'
import { liveRows, type KeyDocument } from '../documents/key-document.js'
import { applyChanges } from './commands.js'

/**
 * Clears the end of all objects within a transaction, or refuses. It changes no sums, so it meets only writes of the same
 * keys, and is no part of the lane.
 */
export async function keepObjects(
  transaction: Transaction,
  command: KeepCommand,
  recordsEvents: boolean,
): Promise<KeepOutcome> {
  const { scope, objects, now } = command
  const keys = await findNamed(transaction, command)
  const named = objects.map((object) => ({ ...object, scope, now }))
  const found = named.map((object) => firstOf(keys.values(), (live) => rowToKeep(live, object)))
  const refusal = refuseKeep(found)
  if (refusal) return refusal
  const changes = new Map<string, KeyChange>()
  const events: NewEvent[] = []
  const rows = named.map((object, index) => {
    const { bucket, key } = found[index]!
    const id = keyId({ bucket, key })
    // Two objects may name both rows of a key. The second one is decided on the result of the first.
    const live = changes.get(id)?.after ?? keys.get(id)!
    const decision = planKeepOne(live, { ...object, bucket, key })
    if (decision.outcome === 'change') {
      changes.set(id, decision)
      if (recordsEvents && decision.event) events.push({ ...decision.event, createdAt: now })
    }
    return copyObject(decision.row!)
  })
  // In one order, so that of two calls with the same keys one fails at its first statement.
  const inOrder = [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change)
  await applyChanges(transaction, inOrder, { alwaysReplaces: true, events })
  return { outcome: 'kept', rows }
}

/** Returns the live rows of the keys that the objects may name. Each filter is a range of an index. */
async function findNamed(
  { namespace, session }: Transaction,
  { scope, objects }: KeepCommand,
): Promise<Map<string, LiveRows>> {
  const ids = { $in: objects.map(({ id }) => id) }
  const documents = await namespace.objects
    .find<KeyDocument>(
      {
        $or: [
          { scope, 'active.id': ids },
          // The index is partial, so the filter repeats its condition.
          { scope, 'active.attemptId': ids, 'active.isOriginal': null },
          { scope, 'pending.id': ids },
        ],
      },
      { session, batchSize: 2 * objects.length + 1 },
    )
    .toArray()
  return new Map(documents.map((document) => [document._id, liveRows(document)]))
}

function firstOf<Item, Result>(items: Iterable<Item>, find: (item: Item) => Result | null): Result | null {
  for (const item of items) {
    const result = find(item)
    if (result !== null) return result
  }
  return null
}
