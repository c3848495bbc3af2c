import type { PurgeDeletedCommand } from '../../../core/store/driver.js'
import { majority, type Read } from '../connection/reads.js'
import type { Transaction } from '../connection/transactions.js'
import type { HistoryDocument } from '../documents/traces.js'
import { NO_SUMS } from '../documents/scope-document.js'
import { removeById, sumUpdates, update } from './commands.js'

/** Finds the ids of deleted rows to purge, by scope. The earliest deletions go first. */
export function findHistoryBefore(command: PurgeDeletedCommand): Read<Map<string, string[]>> {
  const { id, scope, before, limit } = command
  const filter = {
    ...(id !== null && { _id: id }),
    ...(scope !== null && { scope }),
    deletedAt: { $lte: before },
  }
  const byDate = {
    sort: { deletedAt: 1, _id: 1 },
    index: scope === null ? 'by_deletion' : 'by_scope_deletion',
  } as const
  const { sort, index } = id === null ? byDate : ({ sort: { _id: 1 }, index: '_id_' } as const)
  return async ({ namespace, session }) => {
    const documents = await namespace.history
      .find<HistoryDocument>(filter, { session, ...majority(), batchSize: limit + 1 })
      .sort(sort)
      .limit(limit)
      .hint(index)
      .project<HistoryDocument>({ scope: 1 })
      .toArray()
    const byScope = new Map<string, string[]>()
    for (const { _id, scope } of documents) byScope.set(scope, [...(byScope.get(scope) ?? []), _id])
    return byScope
  }
}

/** Deletes history rows of one scope within a transaction. Returns how many still existed. */
export async function dropHistory(
  transaction: Transaction,
  scope: string,
  ids: readonly string[],
): Promise<number> {
  const { history, objects } = transaction.namespace
  const dropped = await removeById(transaction, history, ids)
  if (dropped > 0) {
    const change = new Map([[scope, { ...NO_SUMS, deletedRows: -dropped }]])
    await update(transaction, objects, sumUpdates(change))
  }
  return dropped
}
