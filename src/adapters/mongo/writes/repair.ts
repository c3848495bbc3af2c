import { long } from '../connection/bson.js'
import { runCommand } from '../connection/namespace.js'
import type { Transaction } from '../connection/transactions.js'
import { mapSums, SUM_NAMES } from '../documents/scope-document.js'
import type { Recount } from '../reads/recount.js'

/**
 * Adds to the sums of a scope what a recount found missing. Concurrent writes change rows and sums alike, so the
 * difference stays the same; only another repair changes it. Returns `false`, without a change, if there was one since
 * the recount.
 */
export async function repairSums(
  { namespace, session }: Transaction,
  { scope, recorded, actual, repairs }: Recount,
): Promise<boolean> {
  const missing = mapSums((name) => actual[name] - recorded[name])
  const orZero = (name: string) => ({ $ifNull: [`$${name}`, long(0)] })
  const repaired = {
    ...Object.fromEntries(SUM_NAMES.map((name) => [name, { $add: [orZero(name), long(missing[name])] }])),
    repairs: { $add: [orZero('repairs'), 1] },
  }
  // The filter can't check this: it would make the upsert try to insert a second document.
  const isFirst = { $eq: [orZero('repairs'), repairs] }
  const result = { $cond: [isFirst, { $mergeObjects: ['$$ROOT', repaired] }, '$$ROOT'] }
  const updates = [{ q: { _id: scope }, u: [{ $replaceWith: result }], upsert: true }]
  const response = await runCommand(namespace, { update: namespace.objects.collectionName, updates }, session)
  return Number(response['nModified']) > 0 || response['upserted'] !== undefined
}
