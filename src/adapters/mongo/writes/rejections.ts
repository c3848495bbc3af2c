import { runCommand } from '../connection/namespace.js'
import { majority, type Read } from '../connection/reads.js'
import type { Rejection } from '../../../core/store/lifecycle/change.js'
import type { Transaction } from '../connection/transactions.js'
import { readRejection, rejectionId, type RejectionDocument } from '../documents/rejection-document.js'

export function findRejection(attemptId: string): Read<Rejection | null> {
  return async ({ namespace, session }) => {
    const filter = { _id: rejectionId(attemptId) }
    const options = { session, ...majority() }
    const document = await namespace.objects.findOne<RejectionDocument>(filter, options)
    return document && readRejection(document)
  }
}

export interface OldRejections {
  readonly scope: string | null
  /** Inclusive. */
  readonly before: Date
}

/** Finds the `_id` of the oldest rejections, at most `limit`. */
export function findOldRejections({ scope, before }: OldRejections, limit: number): Read<string[]> {
  const filter = { ...(scope !== null && { scope }), rejectedAt: { $lte: before } }
  return async ({ namespace, session }) => {
    const documents = await namespace.objects
      .find<RejectionDocument>(filter, { session, ...majority(), batchSize: limit + 1 })
      .sort({ rejectedAt: 1, _id: 1 })
      .limit(limit)
      .hint('rejections_by_age')
      .project<Pick<RejectionDocument, '_id'>>({ _id: 1 })
      .toArray()
    return documents.map(({ _id }) => _id)
  }
}

/** Deletes rejections within a transaction, except those of attempts that were rejected again since. */
export async function dropRejections(
  { namespace, session }: Transaction,
  ids: readonly string[],
  before: Date,
): Promise<void> {
  const deletes = [{ q: { _id: { $in: ids }, rejectedAt: { $lte: before } }, limit: 0 }]
  await runCommand(namespace, { delete: namespace.objects.collectionName, deletes }, session)
}
