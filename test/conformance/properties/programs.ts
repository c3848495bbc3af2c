import fc from 'fast-check'
import { HOUR, SECOND } from '../clock.js'
import {
  clockToExpiryStep,
  confirmStep,
  forgetStep,
  listStep,
  place,
  purgeDeletedStep,
  purgeExpiredStep,
  releaseStep,
  removeStep,
  reserveStep,
  scope,
  setUploadIdStep,
  status,
} from './step-arbitraries.js'
import type { AttemptChoice, QuotaChoice, Step } from './steps.js'
import type { Place } from './vocabulary.js'

/** Steps that lead, in turn, to a state in which several callers then make their calls at once. */
export interface Program {
  readonly before: readonly Step[]
  readonly callers: readonly (readonly PausedStep[])[]
}

export interface PausedStep {
  /** Milliseconds that the caller waits before the call. */
  readonly pause: number
  readonly step: Step
}

/** What the steps of one kind of program are chosen from. */
export interface Rush {
  readonly before: fc.Arbitrary<Step>
  readonly atOnce: fc.Arbitrary<Step>
}

/** Mostly attempts by number: among them are those which other callers are just making. */
const attempt: fc.Arbitrary<AttemptChoice> = fc.oneof(
  { weight: 2, arbitrary: fc.constant('none' as const) },
  { weight: 3, arbitrary: fc.constant('pending' as const) },
  { weight: 4, arbitrary: fc.record({ made: fc.nat(6) }) },
)

/** Room for about one of the calls that run at once. */
const tightQuota: fc.Arbitrary<QuotaChoice> = fc.oneof(
  fc.record({ bytes: fc.nat(12), files: fc.constant(null) }),
  fc.record({ bytes: fc.constant(null), files: fc.nat(1) }),
)
const noQuota: fc.Arbitrary<QuotaChoice> = fc.constant(null)

const reserve = (quota: fc.Arbitrary<QuotaChoice>, at?: Place) =>
  fc.tuple(reserveStep, quota).map(([step, quota]) => ({
    ...step,
    at: at ?? step.at,
    quota,
    // Whether another one carries an id or a storage key depends on the order, so reuse is left to scripts in turn.
    id: step.id === 'none' || step.id === 'early' ? step.id : ('late' as const),
    storageKey: step.storageKey === 'none' ? step.storageKey : ('own' as const),
    filename: null,
    contentType: null,
    metadata: null,
  }))

const confirm = (quota: fc.Arbitrary<QuotaChoice>, at?: Place) =>
  fc
    .tuple(confirmStep, attempt, quota)
    .map(([step, id, quota]) => ({ ...step, at: at ?? step.at, id, quota, contentType: null }))

const ofAnyAttempt = <S extends Step & { readonly id: AttemptChoice; readonly at: Place }>(
  step: fc.Arbitrary<S>,
  at?: Place,
): fc.Arbitrary<S> => fc.tuple(step, attempt).map(([each, id]) => ({ ...each, at: at ?? each.at, id }))

const onePlace: Place = { bucket: 0, key: 0, having: null }

const oneScope = <S extends Step & { readonly scope: number | null }>(
  step: fc.Arbitrary<S>,
): fc.Arbitrary<S> => step.map((each) => ({ ...each, scope: 0 }))

/** Whatever is pending, with its size or a little more. */
const confirmPending = (quota: fc.Arbitrary<QuotaChoice>) =>
  fc
    .tuple(confirmStep, place('pending'), fc.constantFrom(0, 1, 2, 4), quota)
    .map(([step, at, morePending, quota]) => ({
      ...step,
      at,
      id: 'none' as const,
      scope: null,
      size: { morePending },
      quota,
    }))

const find = fc.record({
  call: fc.constantFrom('find' as const, 'findActive' as const),
  at: place(null, 'pending', 'active'),
})
const list = listStep.map((step) => ({ ...step, cursor: null }))
const usage = fc.record({ call: fc.constant('getScopeUsage' as const), scope })
const count = fc.record({ call: fc.constant('countByScope' as const), scope, status })

const usualBefore = fc.oneof(
  { weight: 6, arbitrary: reserveStep },
  { weight: 4, arbitrary: confirmStep },
  { weight: 1, arbitrary: removeStep },
  { weight: 3, arbitrary: clockToExpiryStep },
)

const anything: Rush = {
  before: usualBefore,
  atOnce: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 12, arbitrary: reserve(fc.oneof(noQuota, tightQuota)) },
    { weight: 12, arbitrary: confirm(fc.oneof(noQuota, tightQuota)) },
    { weight: 3, arbitrary: ofAnyAttempt(setUploadIdStep) },
    { weight: 4, arbitrary: ofAnyAttempt(releaseStep) },
    { weight: 5, arbitrary: removeStep },
    { weight: 5, arbitrary: purgeExpiredStep },
    { weight: 1, arbitrary: purgeDeletedStep },
    { weight: 1, arbitrary: forgetStep },
    { weight: 2, arbitrary: find },
    { weight: 2, arbitrary: list },
    { weight: 1, arbitrary: count },
    { weight: 2, arbitrary: usage },
  ),
}

/** Everybody wants the same key. */
const overOneKey: Rush = {
  before: fc.oneof(
    { weight: 3, arbitrary: oneScope(reserve(noQuota, onePlace)) },
    { weight: 2, arbitrary: confirmPending(noQuota).map((step) => ({ ...step, at: onePlace })) },
  ),
  atOnce: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 6, arbitrary: reserve(noQuota, onePlace) },
    { weight: 6, arbitrary: confirm(noQuota, onePlace) },
    { weight: 2, arbitrary: ofAnyAttempt(setUploadIdStep, onePlace) },
    { weight: 3, arbitrary: ofAnyAttempt(releaseStep, onePlace) },
    { weight: 3, arbitrary: removeStep.map((step) => ({ ...step, at: onePlace })) },
    { weight: 1, arbitrary: find },
    { weight: 2, arbitrary: oneScope(list) },
    { weight: 2, arbitrary: oneScope(usage) },
  ),
}

/** Everybody wants the last room of one scope, and is told the same quota. */
const overTheQuota = (quota: QuotaChoice): Rush => ({
  before: fc.oneof(
    {
      weight: 3,
      arbitrary: oneScope(reserve(noQuota)).map((step) => ({ ...step, at: { ...step.at, having: null } })),
    },
    { weight: 1, arbitrary: confirmPending(noQuota) },
  ),
  atOnce: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 6, arbitrary: oneScope(reserve(fc.constant(quota))) },
    { weight: 6, arbitrary: confirmPending(fc.constant(quota)) },
    { weight: 1, arbitrary: removeStep },
    { weight: 1, arbitrary: oneScope(usage) },
  ),
})

/** Reservations have lapsed, and some want to drop them while others still want to use them. */
const overLapsedRows: Rush = {
  before: fc.oneof(
    { weight: 4, arbitrary: reserve(noQuota).map((step) => ({ ...step, lasts: SECOND })) },
    { weight: 1, arbitrary: confirmStep },
    { weight: 1, arbitrary: fc.constant({ call: 'clock' as const, by: HOUR }) },
  ),
  atOnce: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 5, arbitrary: purgeExpiredStep },
    { weight: 4, arbitrary: confirm(noQuota) },
    { weight: 4, arbitrary: reserve(noQuota) },
    { weight: 2, arbitrary: ofAnyAttempt(setUploadIdStep) },
    { weight: 2, arbitrary: ofAnyAttempt(releaseStep) },
    { weight: 2, arbitrary: removeStep },
  ),
}

/** The kinds of programs, by what their callers do. */
export const RUSHES: Readonly<Record<string, fc.Arbitrary<Rush>>> = {
  'that do anything': fc.constant(anything),
  'over one key': fc.constant(overOneKey),
  'over the rest of a quota': tightQuota.map(overTheQuota),
  'over lapsed reservations': fc.constant(overLapsedRows),
}

export function programs(rushes: fc.Arbitrary<Rush>, longestPause: number): fc.Arbitrary<Program> {
  return rushes.chain(({ before, atOnce }) => {
    const paused = fc.record({ pause: fc.nat(longestPause), step: atOnce })
    return fc.record({
      before: fc.array(before, { maxLength: 6 }),
      callers: fc.array(fc.array(paused, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
    })
  })
}
