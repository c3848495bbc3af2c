import type { Document } from 'mongodb'
import { long, readNumber } from './connection/bson.js'
import { runCommand, type Namespace, type Stored } from './connection/namespace.js'
import { aggregate, type Read } from './connection/reads.js'
import type { Transaction } from './connection/transactions.js'
import { mapSums, readSums, SUM_NAMES, type ScopeSums } from './documents/scope-document.js'

/** The recorded sums of a scope and the actual sums of its rows, both of one moment. */
export interface Recount {
  readonly scope: string
  readonly recorded: ScopeSums
  readonly actual: ScopeSums
  readonly repairs: number
}

/** The size of an arrived attempt, or what another one declared. */
const PENDING_SIZE = { $ifNull: ['$pending.size', { $ifNull: ['$pending.declaredSize', 0] }] }

/** What a document contributes: its rows if it is of a key, the recorded sums if it is of a scope. */
const CONTRIBUTION = {
  scope: { $ifNull: ['$scope', '$_id'] },
  repairs: 1,
  recorded: Object.fromEntries(SUM_NAMES.map((name) => [name, `$${name}`])),
  bytes: { $ifNull: ['$active.size', 0] },
  files: { $cond: [{ $gt: ['$active', null] }, 1, 0] },
  pendingRows: { $cond: [{ $gt: ['$pending', null] }, 1, 0] },
  reservedFiles: { $cond: [{ $and: [{ $gt: ['$pending', null] }, { $lte: ['$active', null] }] }, 1, 0] },
  reservedBytes: {
    $max: [0, { $subtract: [PENDING_SIZE, { $ifNull: ['$active.size', 0] }] }],
  },
} as const

const TOTAL = {
  _id: '$scope',
  repairs: { $max: '$repairs' },
  ...Object.fromEntries(SUM_NAMES.map((name) => [name, { $sum: `$${name}` }])),
  ...Object.fromEntries(SUM_NAMES.map((name) => [`recorded_${name}`, { $max: `$recorded.${name}` }])),
}

const DIFFERS = {
  $expr: { $or: SUM_NAMES.map((name) => ({ $ne: [`$${name}`, { $ifNull: [`$recorded_${name}`, 0] }] })) },
}

/** Returns the scopes whose recorded sums differ from those of their rows. `null` reads all scopes. */
export function recount(scope: string | null): Read<Recount[]> {
  return async (reader) => {
    const { namespace } = reader
    const pipeline = [
      ...(scope === null ? contributionsOfAll(namespace) : contributionsOf(namespace, scope)),
      { $group: TOTAL },
      { $match: DIFFERS },
    ]
    const options = { allowDiskUse: true }
    return (await aggregate<Stored>(reader, namespace.objects, pipeline, options))
      .map((document) => ({
        scope: document._id,
        recorded: mapSums((name) => readNumber(document[`recorded_${name}`] ?? 0)),
        actual: readSums(document),
        repairs: readNumber(document['repairs'] ?? 0),
      }))
      .sort((a, b) => (a.scope < b.scope ? -1 : 1))
  }
}

const OF_HISTORY = { $project: { _id: 0, scope: 1, deletedRows: { $literal: 1 } } }

function contributionsOfAll({ history }: Namespace): Document[] {
  return [
    { $project: CONTRIBUTION },
    { $unionWith: { coll: history.collectionName, pipeline: [OF_HISTORY] } },
  ]
}

/** Uses the indexes of the lists: keys with an active row, keys with only a pending one, then history. */
function contributionsOf({ objects, history }: Namespace, scope: string): Document[] {
  const ofStatus = (status: string, more: Document = {}) => ({
    coll: objects.collectionName,
    pipeline: [{ $match: { scope, [`${status}.id`]: { $gte: '' }, ...more } }, { $project: CONTRIBUTION }],
  })
  return [
    { $match: { _id: scope } },
    { $project: CONTRIBUTION },
    { $unionWith: ofStatus('active') },
    { $unionWith: ofStatus('pending', { active: { $exists: false } }) },
    {
      $unionWith: {
        coll: history.collectionName,
        pipeline: [{ $match: { scope, _id: { $gte: '' } } }, OF_HISTORY],
      },
    },
  ]
}

/**
 * Adds what a recount found missing. Concurrent writes change rows and sums alike, so only another repair changes the
 * difference. Returns `false`, without a change, if there was one since the recount.
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
