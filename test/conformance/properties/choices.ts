import fc from 'fast-check'
import type { ObjectReference, ObjectStatus, Quota, StorageObject } from '../../../src/core/store/records.js'
import type { ExtendClaimInput } from '../../../src/core/store/contract.js'
import { valueOf } from '../outcome.js'
import type { FollowingModel } from '../calls.js'
import type { ManualClock } from '../clock.js'
import { END_OF_TIME, HOUR, SECOND } from '../clock.js'
import type { Vocabulary } from './vocabulary.js'
import { word } from './vocabulary.js'

/**
 * A field of a step, and the value that it stands for when the step runs. Steps name things by their role ("the attempt
 * that is pending at this key"), because ids, cursors and the rest of a quota are known only then.
 */
export interface Choice<C, Value> {
  readonly arbitrary: fc.Arbitrary<C>
  readonly resolve: (choice: C, here: Here) => Value
}

/** The state of a script that choices refer to. */
export interface ScriptState {
  readonly model: FollowingModel & { readonly rows: readonly StorageObject[] }
  readonly clock: ManualClock
  readonly vocabulary: Vocabulary
  /** Every attempt made so far, whether or not it still exists. */
  readonly attempts: readonly (ObjectReference & { readonly id: string })[]
  /** Every cursor seen so far. */
  readonly cursors: readonly string[]
  /** Every claim of an event so far, the latest first. */
  readonly claims: readonly ExtendClaimInput[]
  freshId(age: 'early' | 'late'): string
  freshStorageKey(key: string): string
}

/** The context of a step when it runs. */
export interface Here {
  readonly script: ScriptState
  /** The key of the step, and the rows that the model has there. */
  readonly reference: ObjectReference
  readonly active: StorageObject | null
  readonly pending: StorageObject | null
  /** The scope whose quota the call is checked against. */
  readonly payer: string
}

// Keys

/** A bucket and a key of the vocabulary, by number. */
export interface KeyChoice {
  readonly bucket: number
  readonly key: number
  /** Prefers a key with a row of this status, if there is any. */
  readonly having: 'pending' | 'active' | null
}

export function keyChoice(...having: KeyChoice['having'][]): fc.Arbitrary<KeyChoice> {
  return fc.record({
    // Mostly the same key, so calls meet.
    bucket: fc.constantFrom(0, 0, 0, 1),
    key: fc.constantFrom(0, 0, 0, 1, 1, 2),
    having: fc.constantFrom(...having),
  })
}

export function referenceTo(
  { bucket, key, having }: KeyChoice,
  { model, vocabulary }: Pick<ScriptState, 'model' | 'vocabulary'>,
): ObjectReference {
  const rows = model.rows.filter(({ status }) => status === having)
  const row = rows[key % rows.length]
  if (row) return { bucket: row.bucket, key: row.key }
  return { bucket: word(vocabulary.buckets, bucket), key: word(vocabulary.keys, key) }
}

// Optional fields

/** Leaves the field out in this percentage of all steps. */
function leftOut<C, Value>(percent: number, choice: Choice<C, Value>): Choice<C | null, Value | undefined> {
  return {
    arbitrary: fc.oneof(
      { withCrossShrink: true },
      { weight: percent, arbitrary: fc.constant(null) },
      { weight: 100 - percent, arbitrary: choice.arbitrary },
    ),
    resolve: (chosen, here) => (chosen === null ? undefined : choice.resolve(chosen, here)),
  }
}
export const rarely = <C, Value>(choice: Choice<C, Value>) => leftOut(80, choice)
export const often = <C, Value>(choice: Choice<C, Value>) => leftOut(40, choice)

/** A field whose values need no context; `null` leaves it out. */
export function literal<Value>(arbitrary: fc.Arbitrary<Value>): Choice<Value, NonNullable<Value>> {
  return { arbitrary, resolve: (value) => (value ?? undefined) as NonNullable<Value> }
}

/** A word of the vocabulary, by number. */
export function wordOf(
  kind: 'scopes' | 'buckets' | 'keys' | 'routes' | 'uploadIds',
  numbers = fc.nat(1),
): Choice<number, string> {
  return { arbitrary: numbers, resolve: (number, { script }) => word(script.vocabulary[kind], number) }
}

// The fields of several calls

export const scope = wordOf('scopes', fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 2))
export const uploadId = wordOf('uploadIds')
export const route = wordOf('routes')
export const status = literal(fc.constantFrom<(ObjectStatus | null)[]>(null, 'pending', 'active', 'deleted'))
export const limit = often(literal(fc.constantFrom(1, 1, 2, 3)))

/** Small sizes, which add up to the quotas below, and the limits of integer types. */
const bytes = fc.oneof(
  { weight: 8, arbitrary: fc.nat(12) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      2 ** 31 - 1,
      2 ** 31,
      2 ** 32,
      Number.MAX_SAFE_INTEGER - 1,
      Number.MAX_SAFE_INTEGER,
    ),
  },
)
export const declaredSize = literal(bytes)

/** A number of bytes, the size of a row at the key, or a few bytes more than the pending row declared. */
export type SizeChoice = number | 'pending' | 'active' | { readonly morePending: number }

export const sizeAtKey: Choice<SizeChoice, number> = {
  arbitrary: fc.oneof<fc.WeightedArbitrary<SizeChoice>[]>(
    { weight: 3, arbitrary: fc.constantFrom('pending' as const, 'active' as const) },
    { weight: 2, arbitrary: fc.record({ morePending: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 1, arbitrary: bytes },
  ),
  resolve(chosen, { active, pending }) {
    if (typeof chosen === 'number') return chosen
    if (typeof chosen === 'object') return (pending?.declaredSize ?? 0) + chosen.morePending
    return (chosen === 'pending' ? pending?.declaredSize : active?.size) ?? 0
  },
}

/** An attempt by its role at the key, or any attempt made there, by number. */
export type AttemptChoice = 'none' | 'pending' | 'active' | 'activeAttempt' | { readonly made: number }

export const attempt: Choice<AttemptChoice, string | undefined> = {
  arbitrary: fc.oneof<fc.WeightedArbitrary<AttemptChoice>[]>(
    { weight: 6, arbitrary: fc.constant('pending') },
    { weight: 3, arbitrary: fc.constant('none') },
    { weight: 1, arbitrary: fc.constantFrom('active' as const, 'activeAttempt' as const) },
    { weight: 2, arbitrary: fc.record({ made: fc.nat(20) }) },
  ),
  resolve(chosen, { active, pending, script: { attempts }, reference: { bucket, key } }) {
    if (typeof chosen === 'object') {
      const here = attempts.filter((each) => each.bucket === bucket && each.key === key)
      return here[chosen.made % Math.max(1, here.length)]?.id ?? attempts[chosen.made]?.id
    }
    return { none: undefined, pending: pending?.id, active: active?.id, activeAttempt: active?.attemptId }[
      chosen
    ]
  },
}
export const requiredAttempt: Choice<AttemptChoice, string> = {
  arbitrary: attempt.arbitrary,
  resolve: (chosen, here) => attempt.resolve(chosen, here) ?? here.script.freshId('early'),
}

/** Mostly an attempt that is live at the key. */
export const attemptToRemove: Choice<AttemptChoice, string | undefined> = {
  arbitrary: fc.oneof<fc.WeightedArbitrary<AttemptChoice>[]>(
    { weight: 2, arbitrary: fc.constantFrom('pending' as const, 'activeAttempt' as const) },
    { weight: 1, arbitrary: fc.constant('active' as const) },
    { weight: 1, arbitrary: fc.record({ made: fc.nat(20) }) },
  ),
  resolve: attempt.resolve,
}

/** The headroom of the quota beyond what the scope holds; `null` is unlimited. */
export type QuotaChoice = { readonly bytes: number | null; readonly files: number | null } | null

/** Many calls just fit such a quota or just exceed it. */
export const quota: Choice<QuotaChoice, Quota | undefined> = leftOut(65, {
  arbitrary: fc.record({
    bytes: often(literal(fc.integer({ min: -1, max: 20 }))).arbitrary,
    files: often(literal(fc.integer({ min: -1, max: 3 }))).arbitrary,
  }),
  resolve({ bytes, files }, { script, payer }) {
    const usage = valueOf(script.model.getScopeUsage(payer))
    const limit = (held: number, headroom: number | null) =>
      headroom === null ? undefined : Math.min(Math.max(0, held + headroom), Number.MAX_SAFE_INTEGER)
    return {
      maxBytes: limit(usage.bytes + usage.reservedBytes, bytes),
      maxFiles: limit(usage.files + usage.reservedFiles, files),
    }
  },
})

// The fields of one call

type NewIdChoice = 'none' | 'early' | 'late' | 'pending' | 'active' | 'activeAttempt'

/** An id for a new attempt: new, or already used at the key. */
export const newId: Choice<NewIdChoice, string | undefined> = {
  arbitrary: fc.constantFrom<NewIdChoice[]>(
    'none',
    'none',
    'early',
    'late',
    'pending',
    'active',
    'activeAttempt',
  ),
  resolve: (chosen, here) =>
    chosen === 'early' || chosen === 'late' ? here.script.freshId(chosen) : attempt.resolve(chosen, here),
}

type StorageKeyChoice = 'none' | 'own' | 'pending' | 'active'

export const storageKey: Choice<StorageKeyChoice, string | undefined> = {
  arbitrary: fc.constantFrom<StorageKeyChoice[]>('none', 'own', 'own', 'pending', 'active'),
  resolve(chosen, { active, pending, reference, script }) {
    switch (chosen) {
      case 'none':
        return undefined
      case 'own':
        return script.freshStorageKey(reference.key)
      default:
        return (chosen === 'pending' ? pending : active)?.storageKey ?? undefined
    }
  },
}

/** Milliseconds from now, or the last date that the contract allows. */
export const expiresAt: Choice<number | 'longest', Date> = {
  arbitrary: fc.constantFrom(HOUR, HOUR, HOUR, 1, SECOND, 24 * HOUR, 'longest' as const),
  resolve: (chosen, { script }) => (chosen === 'longest' ? END_OF_TIME : script.clock.in(chosen)),
}

export const eTag: Choice<number | 'active' | null, string | undefined> = often({
  arbitrary: fc.oneof(fc.nat(1), fc.constant('active' as const)),
  resolve: (chosen, { active, script }) =>
    chosen === 'active' ? (active?.eTag ?? undefined) : word(script.vocabulary.eTags, chosen),
})

/** One of the cursors seen so far, by number. */
export const cursor = often<number, string | undefined>({
  arbitrary: fc.nat(4),
  resolve: (number, { script }) => script.cursors[number],
})
