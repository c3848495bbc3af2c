import type { Document } from 'mongodb'
import type { Place, Stored } from '../connection/place.js'
import { snapshot } from '../connection/reads.js'
import { mapSums, readSums, SUM_NAMES, type ScopeSums } from '../documents/scope-document.js'
import { readNumber } from '../documents/numbers.js'
import type { Read } from './read.js'

/** The sums of a scope beside what its rows add up to, both of one moment. */
export interface Recount {
  readonly scope: string
  readonly recorded: ScopeSums
  readonly actual: ScopeSums
  /** How often the sums were repaired before. */
  readonly repairs: number
}

/** What a document adds to the rows of its scope, and what a scope's own document says. */
const CONTRIBUTION = {
  scope: { $ifNull: ['$scope', '$_id'] },
  repairs: 1,
  recorded: Object.fromEntries(SUM_NAMES.map((name) => [name, `$${name}`])),
  bytes: { $ifNull: ['$active.size', 0] },
  files: { $cond: [{ $gt: ['$active', null] }, 1, 0] },
  pendingRows: { $cond: [{ $gt: ['$pending', null] }, 1, 0] },
  reservedFiles: {
    $cond: [{ $and: [{ $gt: ['$pending', null] }, { $lte: ['$active', null] }] }, 1, 0],
  },
  reservedBytes: {
    $max: [0, { $subtract: [{ $ifNull: ['$pending.declaredSize', 0] }, { $ifNull: ['$active.size', 0] }] }],
  },
} as const

const TOTAL = {
  _id: '$scope',
  repairs: { $max: '$repairs' },
  ...Object.fromEntries(SUM_NAMES.map((name) => [name, { $sum: `$${name}` }])),
  ...Object.fromEntries(SUM_NAMES.map((name) => [`recorded_${name}`, { $max: `$recorded.${name}` }])),
}

/** Of all these sums some is not what was recorded. */
const DIFFERS = {
  $expr: {
    $or: SUM_NAMES.map((name) => ({ $ne: [`$${name}`, { $ifNull: [`$recorded_${name}`, 0] }] })),
  },
}

/** The scopes whose sums are not those of their rows. With `null` it reads all there is. */
export function recount(place: Place, scope: string | null): Read<Recount[]> {
  const pipeline = [
    ...(scope === null ? contributionsOfAll(place) : contributionsOf(place, scope)),
    { $group: TOTAL },
    { $match: DIFFERS },
  ]
  return async (session) => {
    const found = await place.objects
      .aggregate<Stored>(pipeline, { session, ...snapshot(), allowDiskUse: true })
      .toArray()
    return found
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

function contributionsOfAll({ history }: Place): Document[] {
  return [
    { $project: CONTRIBUTION },
    { $unionWith: { coll: history.collectionName, pipeline: [OF_HISTORY] } },
  ]
}

/** By the indexes of the lists: documents with an active row, those with nothing but a pending one, history. */
function contributionsOf({ objects, history }: Place, scope: string): Document[] {
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
