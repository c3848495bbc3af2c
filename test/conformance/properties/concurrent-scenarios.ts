import fc from 'fast-check'
import { HOUR, MINUTE, SECOND } from '../clock.js'
import type { AttemptChoice, KeyChoice, QuotaChoice } from './choices.js'
import { keyChoice } from './choices.js'
import type { CallStep, Step } from './steps.js'
import { clockToExpiryStep, stepOf, update } from './steps.js'

/** Sequential steps that set up a state, and then the calls of several concurrent callers. */
export interface Program {
  readonly before: readonly Step[]
  readonly callers: readonly (readonly PausedStep[])[]
  /** Whether the store records events, if it can. */
  readonly events: boolean
}

export interface PausedStep {
  /** Milliseconds to wait before the call. */
  readonly pause: number
  readonly step: CallStep
}

/** The steps of one kind of program. */
export interface ConcurrentScenario {
  readonly before: fc.Arbitrary<Step>
  readonly concurrent: fc.Arbitrary<CallStep>
}

/** Mostly attempts by number, which includes those that other callers are reserving. */
const attempt: fc.Arbitrary<AttemptChoice> = fc.oneof(
  { weight: 2, arbitrary: fc.constant('none' as const) },
  { weight: 3, arbitrary: fc.constant('pending' as const) },
  { weight: 4, arbitrary: fc.record({ made: fc.nat(6) }) },
)

/** Headroom for about one of the concurrent calls. */
const tightQuota: fc.Arbitrary<QuotaChoice> = fc.oneof(
  fc.record({ bytes: fc.nat(12), files: fc.constant(null) }),
  fc.record({ bytes: fc.constant(null), files: fc.nat(1) }),
)
const noQuota: fc.Arbitrary<QuotaChoice> = fc.constant(null)

const reserve = (quota: fc.Arbitrary<QuotaChoice>, atKey?: KeyChoice) =>
  fc.tuple(stepOf('reserve'), quota).map(([step, quota]) => ({
    ...step,
    atKey: atKey ?? step.atKey,
    quota,
    // Whether an id or a storage key is already used depends on the order, so only sequential scripts reuse them.
    id: step.id === 'none' || step.id === 'early' ? step.id : ('late' as const),
    storageKey: step.storageKey === 'none' ? step.storageKey : ('own' as const),
    filename: null,
    contentType: null,
    metadata: null,
    temporarySeconds: null,
    checkSeconds: null,
  }))

const confirm = (quota: fc.Arbitrary<QuotaChoice>, atKey?: KeyChoice) =>
  fc.tuple(stepOf('confirm'), attempt, quota).map(([step, id, quota]) => ({
    ...step,
    ...{ atKey: atKey ?? step.atKey, id, quota, contentType: null, accept: null },
  }))

const ofAnyAttempt = <S extends CallStep & { readonly id: AttemptChoice; readonly atKey: KeyChoice }>(
  step: fc.Arbitrary<S>,
  atKey?: KeyChoice,
): fc.Arbitrary<S> =>
  fc.tuple(step, attempt).map(([each, id]) => ({ ...each, atKey: atKey ?? each.atKey, id }))

const oneKey: KeyChoice = { bucket: 0, key: 0, having: null }

const inOneScope = <S extends CallStep & { readonly scope: number | null }>(
  step: fc.Arbitrary<S>,
): fc.Arbitrary<S> => step.map((each) => ({ ...each, scope: 0 }))

/** Any pending row, with its declared size or a little more. */
const confirmPending = (quota: fc.Arbitrary<QuotaChoice>) =>
  fc
    .tuple(stepOf('confirm'), keyChoice('pending'), fc.constantFrom(0, 1, 2, 4), quota)
    .map(([step, atKey, morePending, quota]) => ({
      ...step,
      atKey,
      id: 'none' as const,
      scope: null,
      size: { morePending },
      quota,
      accept: null,
    }))

const find = fc.oneof(stepOf('find'), stepOf('findActive'))
const list = stepOf('listByScope').map((step) => ({ ...step, cursor: null }))
const usage = stepOf('getScopeUsage')
const count = stepOf('countByScope')
const leftovers = stepOf('listLeftovers').map((step) => ({ ...step, after: null }))

const anyCalls: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 6, arbitrary: stepOf('reserve') },
    { weight: 4, arbitrary: stepOf('confirm') },
    { weight: 1, arbitrary: stepOf('remove') },
    { weight: 3, arbitrary: clockToExpiryStep },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 12, arbitrary: reserve(fc.oneof(noQuota, tightQuota)) },
    { weight: 12, arbitrary: confirm(fc.oneof(noQuota, tightQuota)) },
    { weight: 3, arbitrary: ofAnyAttempt(stepOf('setUploadId')) },
    { weight: 4, arbitrary: ofAnyAttempt(stepOf('release')) },
    { weight: 5, arbitrary: stepOf('remove') },
    { weight: 5, arbitrary: stepOf('purgeExpired') },
    { weight: 1, arbitrary: stepOf('purgeDeleted') },
    { weight: 1, arbitrary: stepOf('forgetLeftover') },
    { weight: 1, arbitrary: stepOf('deferLeftover') },
    { weight: 2, arbitrary: find },
    { weight: 2, arbitrary: list },
    { weight: 1, arbitrary: count },
    { weight: 2, arbitrary: usage },
    { weight: 2, arbitrary: leftovers },
  ),
}

const overOneKey: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 3, arbitrary: inOneScope(reserve(noQuota, oneKey)) },
    { weight: 2, arbitrary: confirmPending(noQuota).map((step) => ({ ...step, atKey: oneKey })) },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 6, arbitrary: reserve(noQuota, oneKey) },
    { weight: 6, arbitrary: confirm(noQuota, oneKey) },
    { weight: 2, arbitrary: ofAnyAttempt(stepOf('setUploadId'), oneKey) },
    { weight: 3, arbitrary: ofAnyAttempt(stepOf('release'), oneKey) },
    { weight: 3, arbitrary: stepOf('remove').map((step) => ({ ...step, atKey: oneKey })) },
    { weight: 1, arbitrary: find },
    { weight: 2, arbitrary: inOneScope(list) },
    { weight: 2, arbitrary: inOneScope(usage) },
    { weight: 1, arbitrary: count.map((step) => ({ ...step, scope: 0 })) },
    { weight: 3, arbitrary: leftovers },
  ),
}

/** All callers use the last headroom of one scope, under the same quota. */
const overTheQuota = (quota: QuotaChoice): ConcurrentScenario => ({
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    {
      weight: 3,
      arbitrary: inOneScope(reserve(noQuota)).map((step) => ({
        ...step,
        atKey: { ...step.atKey, having: null },
      })),
    },
    { weight: 1, arbitrary: confirmPending(noQuota) },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 6, arbitrary: inOneScope(reserve(fc.constant(quota))) },
    { weight: 6, arbitrary: confirmPending(fc.constant(quota)) },
    { weight: 1, arbitrary: stepOf('remove') },
    { weight: 1, arbitrary: inOneScope(usage) },
  ),
})

/** Some callers drop expired reservations while others still use them. */
const overExpiredRows: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 4, arbitrary: reserve(noQuota).map((step) => ({ ...step, expiresAt: SECOND })) },
    { weight: 1, arbitrary: stepOf('confirm') },
    { weight: 1, arbitrary: fc.constant({ call: 'clock' as const, by: HOUR }) },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 5, arbitrary: stepOf('purgeExpired') },
    { weight: 4, arbitrary: confirm(noQuota) },
    { weight: 4, arbitrary: reserve(noQuota) },
    { weight: 2, arbitrary: ofAnyAttempt(stepOf('setUploadId')) },
    { weight: 2, arbitrary: ofAnyAttempt(stepOf('release')) },
    { weight: 2, arbitrary: stepOf('remove') },
  ),
}

/** Callers put off and forget the same leftovers, while others list them. */
const overLeftovers: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 2, arbitrary: inOneScope(reserve(noQuota)).map((step) => ({ ...step, storageKey: 'own' })) },
    { weight: 2, arbitrary: stepOf('remove').map((step) => ({ ...step, scope: null, attemptId: null })) },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 4, arbitrary: stepOf('deferLeftover') },
    { weight: 3, arbitrary: stepOf('forgetLeftover') },
    { weight: 3, arbitrary: leftovers },
    { weight: 1, arbitrary: stepOf('remove') },
  ),
}

/** Callers change one object and give it away, while both owners use its key. */
const overOneObject: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 3, arbitrary: inOneScope(reserve(noQuota, oneKey)) },
    { weight: 3, arbitrary: confirmPending(noQuota).map((step) => ({ ...step, atKey: oneKey })) },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    {
      weight: 6,
      arbitrary: fc.tuple(stepOf('transfer'), fc.oneof(noQuota, tightQuota)).map(([step, quota]) => {
        return { ...step, atKey: oneKey, from: 0, to: 1, quota, attemptId: null }
      }),
    },
    { weight: 2, arbitrary: stepOf('transfer').map((step) => ({ ...step, atKey: oneKey, quota: null })) },
    { weight: 5, arbitrary: update.map((step) => ({ ...step, atKey: oneKey })) },
    {
      weight: 3,
      arbitrary: update.map((step) => ({ ...step, atKey: oneKey, attemptId: 'activeAttempt' as const })),
    },
    { weight: 4, arbitrary: reserve(noQuota, oneKey) },
    { weight: 4, arbitrary: confirm(noQuota, oneKey) },
    { weight: 3, arbitrary: stepOf('remove').map((step) => ({ ...step, atKey: oneKey })) },
    { weight: 1, arbitrary: find },
    { weight: 2, arbitrary: list },
    { weight: 2, arbitrary: usage },
  ),
}

/** Callers adopt the same bytes, or bytes at keys that others use. */
const overAdoptedBytes: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 4, arbitrary: reserve(noQuota) },
    { weight: 2, arbitrary: confirmPending(noQuota) },
    { weight: 1, arbitrary: stepOf('release') },
    { weight: 1, arbitrary: clockToExpiryStep },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    {
      weight: 8,
      arbitrary: stepOf('adopt').map((step) => ({
        ...step,
        storageKey: step.storageKey === 'own' ? ('shared' as const) : step.storageKey,
        metadata: null,
      })),
    },
    { weight: 4, arbitrary: reserve(noQuota) },
    { weight: 3, arbitrary: confirm(noQuota) },
    { weight: 2, arbitrary: ofAnyAttempt(stepOf('release')) },
    { weight: 2, arbitrary: stepOf('remove') },
    { weight: 1, arbitrary: stepOf('purgeExpired') },
    { weight: 1, arbitrary: stepOf('forgetLeftover') },
    { weight: 1, arbitrary: usage },
  ),
}

const temporary = inOneScope(reserve(noQuota)).map((step) => ({
  ...step,
  storageKey: 'own' as const,
  temporarySeconds: 60,
}))
const checked = temporary.map((step) => ({ ...step, checkSeconds: 60 }))
const confirmDeclared = confirmPending(noQuota).map((step) => ({ ...step, size: 'pending' as const }))
const keep = stepOf('keep').map((step) => ({ ...step, scope: 0 }))

/** Some callers keep temporary objects, or change them, while others end them. */
const overTemporaryObjects: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 4, arbitrary: temporary },
    { weight: 4, arbitrary: confirmDeclared },
    { weight: 1, arbitrary: fc.constantFrom(MINUTE, 2 * MINUTE).map((by) => ({ call: 'clock', by })) },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 6, arbitrary: keep },
    { weight: 6, arbitrary: stepOf('endTemporary') },
    { weight: 2, arbitrary: update },
    {
      weight: 2,
      arbitrary: stepOf('transfer').map((step) => ({
        ...step,
        from: 0,
        to: 1,
        quota: null,
        attemptId: null,
      })),
    },
    { weight: 2, arbitrary: temporary },
    { weight: 2, arbitrary: confirmDeclared },
    { weight: 2, arbitrary: stepOf('remove') },
    { weight: 2, arbitrary: stepOf('listTemporary').map((step) => ({ ...step, after: null })) },
    { weight: 1, arbitrary: usage },
  ),
}

/** Callers confirm, accept and reject the same attempts, while others take their keys. */
const overArrivedAttempts: ConcurrentScenario = {
  before: fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 3, arbitrary: checked },
    { weight: 1, arbitrary: temporary },
    { weight: 3, arbitrary: confirmDeclared },
  ),
  concurrent: fc.oneof<fc.WeightedArbitrary<CallStep>[]>(
    { weight: 6, arbitrary: confirmDeclared.map((step) => ({ ...step, id: 'pending', accept: true })) },
    { weight: 4, arbitrary: confirmDeclared.map((step) => ({ ...step, id: 'pending' })) },
    { weight: 5, arbitrary: ofAnyAttempt(stepOf('reject')).map((step) => ({ ...step, scope: null })) },
    { weight: 3, arbitrary: checked },
    { weight: 3, arbitrary: keep },
    { weight: 2, arbitrary: ofAnyAttempt(stepOf('release')) },
    { weight: 2, arbitrary: stepOf('remove') },
    {
      weight: 1,
      arbitrary: stepOf('transfer').map((step) => ({
        ...step,
        from: 0,
        to: 1,
        quota: null,
        attemptId: null,
      })),
    },
    { weight: 2, arbitrary: stepOf('listArrived').map((step) => ({ ...step, after: null })) },
    { weight: 1, arbitrary: usage },
  ),
}

export const CONCURRENT_SCENARIOS: Readonly<Record<string, fc.Arbitrary<ConcurrentScenario>>> = {
  'of every kind': fc.constant(anyCalls),
  'over one key': fc.constant(overOneKey),
  'over the rest of a quota': tightQuota.map(overTheQuota),
  'over expired reservations': fc.constant(overExpiredRows),
  'over leftovers': fc.constant(overLeftovers),
  'over one object and its owners': fc.constant(overOneObject),
  'over adopted bytes': fc.constant(overAdoptedBytes),
  'over temporary objects': fc.constant(overTemporaryObjects),
  'over arrived attempts': fc.constant(overArrivedAttempts),
}

export function programs(
  scenarios: fc.Arbitrary<ConcurrentScenario>,
  longestPause: number,
): fc.Arbitrary<Program> {
  return scenarios.chain(({ before, concurrent }) => {
    const paused = fc.record({ pause: fc.nat(longestPause), step: concurrent })
    return fc.record({
      events: fc.boolean(),
      before: fc.array(before, { maxLength: 6 }),
      callers: fc.array(fc.array(paused, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
    })
  })
}
