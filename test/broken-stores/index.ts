import { adoptKnownMutants } from './adopt-known.js'
import { adoptMutants } from './adopt.js'
import { arrivedMutants } from './arrived.js'
import { attemptMutants } from './attempts.js'
import { confirmMutants } from './confirm.js'
import { cursorMutants } from './cursor.js'
import { deferredLeftoverMutants } from './deferred-leftovers.js'
import { claimMutants } from './events-claimed.js'
import { eventListMutants } from './events-listed.js'
import { recordedEventMutants } from './events-recorded.js'
import { setMetadataMutants } from './set-metadata.js'
import { settleMutants } from './events-settled.js'
import { expiryMutants } from './expiry.js'
import { fieldMutants } from './fields.js'
import { findMutants } from './finds.js'
import { inputMutants } from './inputs.js'
import { keptMutants } from './kept.js'
import { leftoverMutants } from './leftovers.js'
import { listingMutants } from './listing.js'
import { maintenanceMutants } from './maintenance.js'
import { clampMutants } from './clamps.js'
import type { Mutant, Mutants } from './mutant.js'
import { objectMutants } from './objects.js'
import { placeMutants } from './places.js'
import { purgeRaceMutants } from './purge-races.js'
import { quotaMutants } from './quota.js'
import { raceMutants } from './races.js'
import { reserveMutants } from './reserve.js'
import { scopeMutants } from './scopes.js'
import { storedMutants } from './stored.js'
import { temporaryMutants } from './temporary.js'
import { temporaryLeftoverMutants } from './temporary-leftovers.js'
import { transferQuotaMutants } from './transfer-quota.js'
import { transferMutants } from './transfer.js'
import { updateMutants } from './update.js'
import { usageMutants } from './usage.js'
import { valueMutants } from './values.js'
import { verdictMutants } from './verdicts.js'

const PARTS: Readonly<Record<string, Mutants>> = {
  values: valueMutants,
  fields: fieldMutants,
  reserve: reserveMutants,
  quota: quotaMutants,
  confirm: confirmMutants,
  'setUploadId and release': attemptMutants,
  'remove and history': objectMutants,
  leftovers: leftoverMutants,
  'deferred leftovers': deferredLeftoverMutants,
  'find calls': findMutants,
  listing: listingMutants,
  cursors: cursorMutants,
  usage: usageMutants,
  'expired reservations': expiryMutants,
  inputs: inputMutants,
  concurrency: raceMutants,
  'concurrent purges': purgeRaceMutants,
  maintenance: maintenanceMutants,
  update: updateMutants,
  'setMetadata of an update': setMetadataMutants,
  transfer: transferMutants,
  'the quota of a transfer': transferQuotaMutants,
  adopt: adoptMutants,
  'known bytes of an adopt': adoptKnownMutants,
  'temporary objects': temporaryMutants,
  'leftovers of temporary objects': temporaryLeftoverMutants,
  'kept and ended objects': keptMutants,
  'arrived attempts': arrivedMutants,
  verdicts: verdictMutants,
  'lists of scopes': scopeMutants,
  'lists of names and findById': storedMutants,
  'recorded events': recordedEventMutants,
  'claims of events': claimMutants,
  'settled and extended claims': settleMutants,
  'lists of events': eventListMutants,
  'long lists': clampMutants,
  places: placeMutants,
}

/** A store with one defect, in the memory of this process. */
export interface BrokenStore extends Mutant {
  /** The part of the contract that it breaks. */
  readonly part: string
}

export const BROKEN_STORES: readonly BrokenStore[] = Object.entries(PARTS).flatMap(([part, mutants]) =>
  Object.entries(mutants).map(([defect, [broken, ...rejectedBy]]) => ({
    ...{ part, defect, rejectedBy },
    ...(typeof broken === 'function' ? { createStore: broken } : broken),
  })),
)
