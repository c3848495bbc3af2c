import fc from 'fast-check'
import { HOUR, SECOND } from '../clock.js'
import {
  clockStep,
  clockToExpiryStep,
  confirmStep,
  findPendingStep,
  forgetStep,
  listExpiredStep,
  listLeftoversStep,
  listStep,
  multipartStep,
  place,
  purgeDeletedStep,
  purgeExpiredStep,
  releaseStep,
  removeStep,
  reserveStep,
  scope,
  setUploadIdStep,
} from './step-arbitraries.js'
import type { QuotaChoice, Step } from './steps.js'
import type { Vocabulary } from './vocabulary.js'
import { narrowVocabulary, vocabulary } from './vocabulary.js'

const calls: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 16, arbitrary: reserveStep },
  { weight: 14, arbitrary: confirmStep },
  { weight: 3, arbitrary: setUploadIdStep },
  { weight: 3, arbitrary: releaseStep },
  { weight: 4, arbitrary: removeStep },
  { weight: 2, arbitrary: purgeExpiredStep },
  { weight: 1, arbitrary: purgeDeletedStep },
  { weight: 1, arbitrary: forgetStep },
  { weight: 2, arbitrary: findPendingStep },
  { weight: 1, arbitrary: multipartStep },
  { weight: 3, arbitrary: listStep },
  { weight: 2, arbitrary: listExpiredStep },
  { weight: 1, arbitrary: listLeftoversStep },
]

const spoiledStep = fc.record({
  call: fc.constant('spoiled' as const),
  step: fc.oneof(...calls),
  field: fc.nat(20),
  value: fc.nat(40),
})

const own = reserveStep.map((step) => ({ ...step, scope: 0, quota: null, overwrite: null }))
const ownWithStorageKey = own.map((step) => ({ ...step, storageKey: 'own' as const }))
const confirmPending = confirmStep.map((step) => ({
  ...step,
  id: 'none' as const,
  scope: null,
  quota: null,
}))
/** A client that did not hear the answer and asks again; now and then with something else. */
const confirmAgain = fc
  .tuple(confirmStep, place('active'), fc.constantFrom('activeAttempt', 'activeAttempt', 'none' as const))
  .map(([step, at, id]) => ({ ...step, at, id, size: 'active' as const, scope: null, quota: null }))
const forward = (by: number) => fc.constant<Step>({ call: 'clock', by })

/** Names a scope, which is that of the row or another one. */
const byAnyScope = <S extends Step & { readonly scope: number | null }>(
  step: fc.Arbitrary<S>,
): fc.Arbitrary<S> => fc.tuple(step, scope).map(([each, scope]) => ({ ...each, scope }))

/** A quota that is nearly used up, and now and then passed already. */
const tightQuota: fc.Arbitrary<QuotaChoice> = fc.record({
  bytes: fc.integer({ min: -1, max: 6 }),
  files: fc.constantFrom(null, null, 0, 1),
})

/** What scripts of one kind, that run call by call, are made of. */
export interface Tale {
  readonly words: fc.Arbitrary<Vocabulary>
  readonly steps: fc.Arbitrary<Step>
}

const plainWords = fc.constant(narrowVocabulary)

/**
 * All that the store shows is looked at after each call, so reads are rare. Scripts of anything, with any names, get
 * nowhere far; so others stay with one part of the contract and a few names.
 */
export const TALES: Readonly<Record<string, Tale>> = {
  'that do anything, with names of all kinds': {
    words: vocabulary,
    steps: fc.oneof(
      ...calls,
      { weight: 4, arbitrary: clockStep },
      { weight: 3, arbitrary: clockToExpiryStep },
      { weight: 2, arbitrary: spoiledStep },
    ),
  },

  'about attempts and who may go on with them': {
    words: plainWords,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: own },
      { weight: 2, arbitrary: reserveStep.map((step) => ({ ...step, quota: null })) },
      { weight: 3, arbitrary: confirmPending },
      { weight: 2, arbitrary: byAnyScope(confirmStep) },
      { weight: 2, arbitrary: confirmStep },
      { weight: 3, arbitrary: confirmAgain },
      { weight: 2, arbitrary: setUploadIdStep },
      { weight: 1, arbitrary: releaseStep },
      { weight: 2, arbitrary: byAnyScope(releaseStep) },
      { weight: 1, arbitrary: byAnyScope(removeStep) },
      { weight: 1, arbitrary: findPendingStep },
      { weight: 2, arbitrary: forward(SECOND) },
    ),
  },

  'about reservations that lapse': {
    words: plainWords,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 5, arbitrary: ownWithStorageKey },
      { weight: 3, arbitrary: reserveStep.map((step) => ({ ...step, quota: null })) },
      { weight: 2, arbitrary: confirmPending },
      { weight: 2, arbitrary: forward(HOUR) },
      { weight: 2, arbitrary: clockToExpiryStep },
      { weight: 3, arbitrary: purgeExpiredStep },
      { weight: 1, arbitrary: listExpiredStep },
      { weight: 1, arbitrary: multipartStep },
    ),
  },

  'about what is replaced, removed and left': {
    words: plainWords,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: ownWithStorageKey },
      { weight: 6, arbitrary: confirmPending },
      { weight: 4, arbitrary: removeStep },
      { weight: 2, arbitrary: purgeDeletedStep },
      { weight: 1, arbitrary: forgetStep },
      { weight: 1, arbitrary: listLeftoversStep },
      { weight: 1, arbitrary: forward(SECOND) },
    ),
  },

  'about quotas': {
    words: plainWords,
    steps: fc.oneof<fc.WeightedArbitrary<Step>[]>(
      { weight: 6, arbitrary: fc.tuple(own, tightQuota).map(([step, quota]) => ({ ...step, quota })) },
      {
        weight: 5,
        arbitrary: fc.tuple(confirmPending, tightQuota).map(([step, quota]) => ({ ...step, quota })),
      },
      { weight: 2, arbitrary: own },
      { weight: 1, arbitrary: removeStep },
      { weight: 1, arbitrary: releaseStep },
    ),
  },
}
