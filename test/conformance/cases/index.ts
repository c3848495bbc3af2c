import { adoptConflictCases, knownBytesCases, receivingCases } from './adopt-known.js'
import { adoptCases } from './adopt.js'
import { acceptCases, arrivedCases, listArrivedCases } from './arrived.js'
import { claimCases } from './events-claimed.js'
import { extendCases, settleCases } from './events-settled.js'
import { countEventsCases, listEventsCases } from './events-listed.js'
import {
  adoptEventCases,
  eventsOffCases,
  recordedEventCases,
  transferEventCases,
  updateEventCases,
} from './events-recorded.js'
import { findByIdCases, findTransferredCases } from './find-by-id.js'
import { listScopesCases, scopePrefixCases } from './scopes.js'
import { listStoredCases } from './stored.js'
import { transferCases, transferQuotaCases } from './transfer.js'
import { setMetadataCases, setMetadataEventCases } from './set-metadata.js'
import { updateCases } from './update.js'
import { releaseCases, setUploadIdCases } from './attempts.js'
import { confirmCases } from './confirm.js'
import { copyCases } from './copies.js'
import { cursorCases } from './cursor.js'
import { deferredLeftoverCases } from './deferred-leftovers.js'
import { listExpiredCases, purgeExpiredCases } from './expiry.js'
import { eventFieldCases, fieldCases } from './fields.js'
import { findCases } from './finds.js'
import { leftoverCases } from './leftovers.js'
import { endTemporaryCases, keepCases, temporaryEventCases } from './kept.js'
import { listedLeftoverCases } from './listed-leftovers.js'
import { longListCases, longNameListCases } from './long-lists.js'
import { countCases, listCases } from './listing.js'
import { quotaCases } from './quota.js'
import { recordCases } from './records.js'
import {
  historyCases,
  objectHistoryCases,
  removeAttemptCases,
  removeCases,
  scopedHistoryCases,
} from './remove.js'
import { reserveCases } from './reserve.js'
import { scopedLeftoverCases } from './scoped-leftovers.js'
import { metadataCases, stringCases } from './strings.js'
import { concurrencyCases } from './concurrency.js'
import { maintenanceCases } from './maintenance.js'
import { reopenedCases, reopenedEventCases, tamperedCases, unmigratedCases } from './places.js'
import { driverOutcomeCases, settledOutcomeCases } from './driver-outcomes.js'
import { listTemporaryCases, temporaryCases } from './temporary.js'
import { temporaryLeftoverCases } from './temporary-leftovers.js'
import { usageCases } from './usage.js'
import { errorCases, validationCases } from './validation.js'
import { rejectCases, verdictEventCases, verdictRaceCases } from './verdicts.js'
import type { CaseGroup } from '../given.js'

/** All cases: the fields of rows, then each call, then the rules for all calls. */
export const CASE_GROUPS: readonly CaseGroup[] = [
  recordCases,
  reserveCases,
  quotaCases,
  confirmCases,
  setUploadIdCases,
  releaseCases,
  removeCases,
  removeAttemptCases,
  historyCases,
  scopedHistoryCases,
  objectHistoryCases,
  leftoverCases,
  listedLeftoverCases,
  scopedLeftoverCases,
  deferredLeftoverCases,
  findCases,
  listCases,
  cursorCases,
  countCases,
  usageCases,
  listExpiredCases,
  purgeExpiredCases,
  updateCases,
  setMetadataCases,
  transferCases,
  transferQuotaCases,
  adoptCases,
  knownBytesCases,
  adoptConflictCases,
  receivingCases,
  temporaryCases,
  temporaryLeftoverCases,
  listTemporaryCases,
  keepCases,
  endTemporaryCases,
  arrivedCases,
  acceptCases,
  listArrivedCases,
  rejectCases,
  findByIdCases,
  findTransferredCases,
  listScopesCases,
  scopePrefixCases,
  listStoredCases,
  recordedEventCases,
  eventsOffCases,
  updateEventCases,
  setMetadataEventCases,
  transferEventCases,
  adoptEventCases,
  temporaryEventCases,
  verdictEventCases,
  claimCases,
  settleCases,
  extendCases,
  listEventsCases,
  countEventsCases,
  stringCases,
  metadataCases,
  copyCases,
  fieldCases,
  eventFieldCases,
  validationCases,
  errorCases,
  concurrencyCases,
  verdictRaceCases,
  longListCases,
  longNameListCases,
  maintenanceCases,
  unmigratedCases,
  reopenedCases,
  reopenedEventCases,
  tamperedCases,
  driverOutcomeCases,
  settledOutcomeCases,
]
