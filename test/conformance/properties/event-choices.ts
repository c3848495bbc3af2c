import fc from 'fast-check'
import type {
  ExtendClaimInput,
  ExtendClaimsOptions,
  SettleEventInput,
} from '../../../src/core/store/contract.js'
import { HOUR, SECOND } from '../clock.js'
import type { Choice, ScriptState } from './choices.js'
import { literal, often, wordOf } from './choices.js'
import { word } from './vocabulary.js'

/** A claim by number, the latest first. `retry` is in milliseconds from now. */
export interface PickedClaim {
  readonly claim: number | 'unknown'
  readonly retry: number | null
}

const picked: fc.Arbitrary<PickedClaim[]> = fc.uniqueArray(
  fc.record({
    claim: fc.oneof(
      { weight: 9, arbitrary: fc.nat(3) },
      { weight: 1, arbitrary: fc.nat(20) },
      { weight: 1, arbitrary: fc.constant('unknown' as const) },
    ),
    retry: fc.constantFrom(null, null, null, 0, SECOND, HOUR, -SECOND),
  }),
  { maxLength: 4, selector: ({ claim }) => claim },
)

/** Returns the claims, of each event only one. */
function claimsOf(picks: readonly PickedClaim[], { claims }: ScriptState): [ExtendClaimInput, PickedClaim][] {
  const entries = picks.flatMap((pick): [ExtendClaimInput, PickedClaim][] => {
    if (pick.claim === 'unknown') return [[{ id: 'no event', claim: 'no claim' }, pick]]
    const claim = claims[pick.claim]
    return claim ? [[claim, pick]] : []
  })
  return entries.filter(([{ id }], index) => entries.findIndex(([other]) => other.id === id) === index)
}

export const settledClaims: Choice<readonly PickedClaim[], readonly SettleEventInput[]> = {
  arbitrary: picked,
  resolve: (picks, { script }) =>
    claimsOf(picks, script).map(([entry, { retry }]) =>
      retry === null ? entry : { ...entry, retryAt: script.clock.in(retry) },
    ),
}

export const extendedClaims: Choice<readonly PickedClaim[], readonly ExtendClaimInput[]> = {
  arbitrary: picked,
  resolve: (picks, { script }) => claimsOf(picks, script).map(([entry]) => entry),
}

export const claimedKey = wordOf('keys', fc.nat(2))

/** Scopes by number. */
export const lastScopes: Choice<readonly number[], readonly string[]> = {
  arbitrary: fc.array(fc.nat(2), { maxLength: 2 }),
  resolve: (numbers, { script }) => numbers.map((number) => word(script.vocabulary.scopes, number)),
}

export const claimSeconds = often(literal(fc.constantFrom(1, 60, 3600)))

export const extendOptions: Choice<number | null, ExtendClaimsOptions | undefined> = {
  arbitrary: fc.constantFrom(null, 1, 60, 3600),
  resolve: (seconds) => (seconds === null ? undefined : { claimSeconds: seconds }),
}
