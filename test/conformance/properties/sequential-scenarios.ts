import fc from 'fast-check'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { QuotaChoice } from './choices.js'
import { keyChoice, scope } from './choices.js'
import type { CallStep, Step } from './steps.js'
import { clockStep, clockToExpiryStep, spoiled, stepOf, update } from './steps.js'
import type { Vocabulary } from './vocabulary.js'
import { narrowVocabulary, vocabulary } from './vocabulary.js'

/** The names and steps of one kind of script. */
export interface SequentialScenario {
  readonly words: fc.Arbitrary<Vocabulary>
  readonly steps: fc.Arbitrary<Step>
}

const calls: readonly fc.WeightedArbitrary<CallStep>[] = [
  { weight: 16, arbitrary: stepOf('reserve') },
  { weight: 14, arbitrary: stepOf('confirm') },
  { weight: 3, arbitrary: stepOf('setUploadId') },
  { weight: 3, arbitrary: stepOf('release') },
  { weight: 4, arbitrary: stepOf('remove') },
  { weight: 2, arbitrary: stepOf('purgeExpired') },
  { weight: 1, arbitrary: stepOf('purgeDeleted') },
  { weight: 1, arbitrary: stepOf('forgetLeftover') },
  { weight: 1, arbitrary: stepOf('deferLeftover') },
  { weight: 2, arbitrary: stepOf('findPending') },
  { weight: 1, arbitrary: stepOf('findPendingMultipart') },
  { weight: 3, arbitrary: stepOf('listByScope') },
  { weight: 2, arbitrary: stepOf('listExpired') },
  { weight: 1, arbitrary: stepOf('listLeftovers') },
  { weight: 5, arbitrary: stepOf('update') },
  { weight: 4, arbitrary: stepOf('transfer') },
  { weight: 5, arbitrary: stepOf('adopt') },
  { weight: 3, arbitrary: stepOf('keep') },
  { weight: 2, arbitrary: stepOf('endTemporary') },
  { weight: 1, arbitrary: stepOf('listTemporary') },
  { weight: 1, arbitrary: stepOf('listArrived') },
  { weight: 2, arbitrary: stepOf('reject') },
  { weight: 1, arbitrary: stepOf('findById') },
  { weight: 1, arbitrary: stepOf('listStored') },
  { weight: 2, arbitrary: stepOf('claimEvents') },
  { weight: 2, arbitrary: stepOf('settleEvents') },
  { weight: 1, arbitrary: stepOf('extendClaims') },
]

const reserve = stepOf('reserve').map((step) => ({
  ...step,
  quota: null,
  // Only the scenarios about them have terms, which would keep attempts of the others from becoming objects.
  temporarySeconds: null,
  checkSeconds: null,
}))
const ownReserve = reserve.map((step) => ({ ...step, scope: 0, overwrite: null }))
const ownReserveWithStorageKey = ownReserve.map((step) => ({ ...step, storageKey: 'own' as const }))
const confirmPending = stepOf('confirm').map((step) => ({
  ...step,
  accept: null,
  id: 'none' as const,
  scope: null,
  quota: null,
}))
/** A client that lost the response repeats its confirm, sometimes with other fields. */
const repeatedConfirm = fc
  .tuple(
    stepOf('confirm'),
    keyChoice('active'),
    fc.constantFrom('activeAttempt', 'activeAttempt', 'none' as const),
  )
  .map(([step, atKey, id]) => ({ ...step, atKey, id, size: 'active' as const, scope: null, quota: null }))
const updateActive = update.map((step) => ({ ...step, scope: null, attemptId: null }))
const transferActive = stepOf('transfer').map((step) => ({ ...step, attemptId: null, quota: null }))
/** Claims the events of one object or of all. */
const claim = fc.tuple(stepOf('claimEvents'), fc.constantFrom(null, null, 0, 1)).map(([step, key]) => {
  return { ...step, bucket: key === null ? null : 0, key }
})
const forward = (by: number) => fc.constant<Step>({ call: 'clock', by })

/** Always names a scope, either that of the row or another one. */
const withScope = <S extends CallStep & { readonly scope: number | null }>(
  step: fc.Arbitrary<S>,
): fc.Arbitrary<S> => fc.tuple(step, scope.arbitrary).map(([each, scope]) => ({ ...each, scope }))

/** Attempts whose objects end within the moves of the clock. */
const temporaryReserve = fc
  .tuple(ownReserveWithStorageKey, fc.constantFrom(null, 1, 60, 60, 3600))
  .map(([step, temporarySeconds]) => ({ ...step, temporarySeconds }))
const checkedReserve = fc
  .tuple(temporaryReserve, fc.constantFrom(null, 60, 60, 3600))
  .map(([step, checkSeconds]) => ({ ...step, checkSeconds }))
/** Accepts an arrived attempt, mostly with what it arrived with. */
const accept = fc
  .tuple(
    stepOf('confirm'),
    keyChoice('pending', 'pending', 'active'),
    fc.constantFrom('pending', 'activeAttempt'),
  )
  .map(([step, atKey, id]) => ({ ...step, atKey, id, scope: null, eTag: null, accept: true }) as const)
/** A client confirms an attempt that may be over, whatever is at the key meanwhile. */
const lateConfirm = fc
  .tuple(confirmPending, fc.record({ made: fc.nat(3) }))
  .map(([step, id]) => ({ ...step, id }))
const keepOwn = stepOf('keep').map((step) => ({ ...step, scope: 0 }))

/** A quota with little headroom, or already exceeded. */
const tightQuota: fc.Arbitrary<QuotaChoice> = fc.record({
  bytes: fc.integer({ min: -1, max: 6 }),
  files: fc.constantFrom(null, null, 0, 1),
})

const narrow = fc.constant(narrowVocabulary)

/**
 * Reads are rare, because scripts compare all reads after each call. Random calls with random names reach few deep states,
 * so all scenarios but the first use few names and the calls of one part of the contract.
 */
export const SEQUENTIAL_SCENARIOS: Readonly<Record<string, SequentialScenario>> = {
  'of every kind with unusual names': {
    words: vocabulary,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      ...calls,
      { weight: 4, arbitrary: clockStep },
      { weight: 3, arbitrary: clockToExpiryStep },
      { weight: 2, arbitrary: spoiled(fc.oneof(...calls)) },
    ),
  },

  'about attempts and their owners': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: ownReserve },
      { weight: 2, arbitrary: reserve },
      { weight: 3, arbitrary: confirmPending },
      { weight: 2, arbitrary: withScope(stepOf('confirm')) },
      { weight: 2, arbitrary: stepOf('confirm') },
      { weight: 3, arbitrary: repeatedConfirm },
      { weight: 2, arbitrary: stepOf('setUploadId') },
      { weight: 1, arbitrary: stepOf('release') },
      { weight: 2, arbitrary: withScope(stepOf('release')) },
      { weight: 1, arbitrary: withScope(stepOf('remove')) },
      { weight: 1, arbitrary: stepOf('findPending') },
      { weight: 2, arbitrary: forward(SECOND) },
    ),
  },

  'about expired reservations': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 5, arbitrary: ownReserveWithStorageKey },
      { weight: 3, arbitrary: reserve },
      { weight: 2, arbitrary: confirmPending },
      { weight: 2, arbitrary: forward(HOUR) },
      { weight: 2, arbitrary: clockToExpiryStep },
      { weight: 3, arbitrary: stepOf('purgeExpired') },
      { weight: 1, arbitrary: stepOf('listExpired') },
      { weight: 1, arbitrary: stepOf('findPendingMultipart') },
    ),
  },

  'about replacement, removal and leftovers': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: ownReserveWithStorageKey },
      { weight: 6, arbitrary: confirmPending },
      { weight: 4, arbitrary: stepOf('remove') },
      { weight: 2, arbitrary: stepOf('purgeDeleted') },
      { weight: 1, arbitrary: stepOf('forgetLeftover') },
      { weight: 2, arbitrary: stepOf('deferLeftover') },
      { weight: 2, arbitrary: stepOf('listLeftovers') },
      { weight: 1, arbitrary: forward(SECOND) },
    ),
  },

  'about changes of objects without an upload': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 3, arbitrary: ownReserveWithStorageKey },
      { weight: 2, arbitrary: reserve },
      { weight: 4, arbitrary: confirmPending },
      { weight: 4, arbitrary: updateActive },
      { weight: 2, arbitrary: stepOf('update') },
      { weight: 3, arbitrary: transferActive },
      { weight: 2, arbitrary: stepOf('transfer') },
      { weight: 6, arbitrary: stepOf('adopt') },
      { weight: 1, arbitrary: stepOf('remove') },
      { weight: 1, arbitrary: clockToExpiryStep },
      { weight: 1, arbitrary: forward(SECOND) },
    ),
  },

  'about temporary objects': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: temporaryReserve },
      { weight: 6, arbitrary: confirmPending },
      { weight: 1, arbitrary: repeatedConfirm },
      { weight: 4, arbitrary: keepOwn },
      { weight: 1, arbitrary: stepOf('keep') },
      { weight: 5, arbitrary: stepOf('endTemporary') },
      { weight: 1, arbitrary: stepOf('listTemporary') },
      { weight: 3, arbitrary: updateActive },
      { weight: 2, arbitrary: transferActive },
      { weight: 1, arbitrary: stepOf('remove') },
      { weight: 1, arbitrary: forward(SECOND) },
      { weight: 4, arbitrary: forward(MINUTE) },
      { weight: 1, arbitrary: forward(HOUR) },
      { weight: 1, arbitrary: forward(-SECOND) },
    ),
  },

  'about checked uploads': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 8, arbitrary: checkedReserve },
      { weight: 2, arbitrary: reserve },
      { weight: 8, arbitrary: confirmPending },
      { weight: 6, arbitrary: accept },
      { weight: 4, arbitrary: stepOf('reject') },
      { weight: 4, arbitrary: stepOf('confirm') },
      { weight: 1, arbitrary: repeatedConfirm },
      { weight: 4, arbitrary: lateConfirm },
      { weight: 1, arbitrary: stepOf('listArrived') },
      { weight: 4, arbitrary: keepOwn },
      { weight: 1, arbitrary: stepOf('endTemporary') },
      { weight: 2, arbitrary: transferActive },
      { weight: 1, arbitrary: stepOf('adopt') },
      { weight: 1, arbitrary: stepOf('setUploadId') },
      { weight: 1, arbitrary: stepOf('release') },
      { weight: 1, arbitrary: stepOf('remove') },
      { weight: 1, arbitrary: stepOf('purgeExpired') },
      { weight: 1, arbitrary: stepOf('purgeDeleted') },
      { weight: 2, arbitrary: forward(MINUTE) },
      { weight: 2, arbitrary: forward(HOUR) },
    ),
  },

  'about events and their claims': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 3, arbitrary: ownReserve },
      { weight: 3, arbitrary: confirmPending },
      { weight: 3, arbitrary: updateActive },
      { weight: 2, arbitrary: transferActive },
      { weight: 2, arbitrary: stepOf('adopt') },
      { weight: 2, arbitrary: stepOf('remove') },
      { weight: 6, arbitrary: claim },
      { weight: 6, arbitrary: stepOf('settleEvents') },
      { weight: 2, arbitrary: stepOf('extendClaims') },
      { weight: 1, arbitrary: forward(SECOND) },
      { weight: 2, arbitrary: forward(MINUTE) },
      { weight: 1, arbitrary: forward(HOUR) },
      { weight: 1, arbitrary: forward(-SECOND) },
    ),
  },

  'about quotas': {
    words: narrow,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: fc.tuple(ownReserve, tightQuota).map(([step, quota]) => ({ ...step, quota })) },
      {
        weight: 5,
        arbitrary: fc.tuple(confirmPending, tightQuota).map(([step, quota]) => ({ ...step, quota })),
      },
      { weight: 2, arbitrary: ownReserve },
      { weight: 1, arbitrary: stepOf('remove') },
      { weight: 1, arbitrary: stepOf('release') },
    ),
  },
}
