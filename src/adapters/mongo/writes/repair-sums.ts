import type { ClientSession } from 'mongodb'
import { runCommand, type Place } from '../connection/place.js'
import { increment, mapSums } from '../documents/scope-document.js'
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
  const difference = increment(mapSums((name) => actual[name] - recorded[name]))
  const u = { $inc: { ...difference.$inc, repairs: 1 } }
  // A document that was never repaired doesn't say so; there may be none yet.
  const q = { _id: scope, repairs: repairs === 0 ? null : repairs }
  const updates = [{ q, u, upsert: repairs === 0 }]
  const answer = await runCommand(place, { update: place.objects.collectionName, updates }, session)
  return Number(answer['n']) > 0
}
