import type { ClientSession } from 'mongodb'
import type { PurgeDeletedCommand } from '../../../core/store/driver.js'
import { runCommand, type Place } from '../connection/place.js'
import { majority } from '../connection/reads.js'
import type { HistoryDocument } from '../documents/history-document.js'
import { NO_SUMS } from '../documents/scope-document.js'
import type { Read } from '../reads/read.js'
import { sumUpdates, update } from './apply-changes.js'

/** The rows of history that may go, by scope, those first that were deleted first. */
export function findHistoryBefore(
  { history }: Place,
  { before, limit }: PurgeDeletedCommand,
): Read<Map<string, string[]>> {
  return async (session) => {
    const documents = await history
      .find<HistoryDocument>(
        { deletedAt: { $lte: before } },
        { session, ...majority(), batchSize: limit + 1 },
      )
      .sort({ deletedAt: 1, _id: 1 })
      .limit(limit)
      .hint('by_deletion')
      .project<HistoryDocument>({ scope: 1 })
      .toArray()
    const byScope = new Map<string, string[]>()
    for (const { _id, scope } of documents) byScope.set(scope, [...(byScope.get(scope) ?? []), _id])
    return byScope
  }
}

/** Drops those of one scope that are there still, within a transaction; resolves to how many. */
export async function dropHistory(
  place: Place,
  session: ClientSession,
  scope: string,
  ids: readonly string[],
): Promise<number> {
  const deletes = [{ q: { _id: { $in: ids } }, limit: 0 }]
  const answer = await runCommand(place, { delete: place.history.collectionName, deletes }, session)
  const dropped = Number(answer['n'])
  if (dropped > 0) {
    const change = new Map([[scope, { ...NO_SUMS, deletedRows: -dropped }]])
    await update(place, session, place.objects, sumUpdates(change))
  }
  return dropped
}
