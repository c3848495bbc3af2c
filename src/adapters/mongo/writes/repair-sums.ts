import type { ClientSession } from 'mongodb'
import { runCommand, type Place } from '../connection/place.js'
import { long } from '../documents/numbers.js'
import { mapSums, SUM_NAMES } from '../documents/scope-document.js'
import type { Recount } from '../reads/recount.js'

/**
 * Adds to the sums of a scope what a recount found missing. A write moves rows and sums alike, so what is missing stays
 * the same while writers run; only another repair changes it. Resolves to whether none has come in between.
 */
export async function repairSums(
  place: Place,
  session: ClientSession,
  { scope, recorded, actual, repairs }: Recount,
): Promise<boolean> {
  const missing = mapSums((name) => actual[name] - recorded[name])
  const orZero = (name: string) => ({ $ifNull: [`$${name}`, long(0)] })
  const repaired = {
    ...Object.fromEntries(SUM_NAMES.map((name) => [name, { $add: [orZero(name), long(missing[name])] }])),
    repairs: { $add: [orZero('repairs'), 1] },
  }
  // Looked at in here and not by the filter: there may be no document yet, and a repeated repair must not make a second.
  const isFirst = { $eq: [orZero('repairs'), repairs] }
  const result = { $cond: [isFirst, { $mergeObjects: ['$$ROOT', repaired] }, '$$ROOT'] }
  const updates = [{ q: { _id: scope }, u: [{ $replaceWith: result }], upsert: true }]
  const answer = await runCommand(place, { update: place.objects.collectionName, updates }, session)
  return Number(answer['nModified']) > 0 || answer['upserted'] !== undefined
}
