import fc from 'fast-check'
import type { MetadataChanges, ObjectMetadata } from '../../../src/core/store/records.js'
import { END_OF_TIME, HOUR, SECOND } from '../clock.js'
import { valueOf } from '../outcome.js'
import type { Choice } from './choices.js'
import { literal, often, wordOf } from './choices.js'
import { metadata } from './texts.js'
import { word } from './vocabulary.js'

// The fields of update, transfer, adopt and of the reads that name no key

/** Any scope, each as often. */
export const anyScope = wordOf('scopes', fc.nat(2))

/** A field to set, to clear with `null`, or to leave out. */
export type ChangeChoice<Value> = { readonly set: Value | null } | 'left out'

function changed<Value>(
  values: fc.Arbitrary<Value | null>,
): Choice<ChangeChoice<Value>, Value | null | undefined> {
  return {
    arbitrary: fc.oneof(
      { weight: 1, arbitrary: fc.constant('left out' as const) },
      { weight: 2, arbitrary: fc.record({ set: values }) },
    ),
    resolve: (chosen) => (chosen === 'left out' ? undefined : chosen.set),
  }
}

/** Few texts, so updates often change nothing. */
export const changedText = changed(fc.constantFrom('a', 'b', null))
export const changedMetadata = changed<ObjectMetadata>(
  fc.oneof(
    fc.constantFrom({ a: 'b' }, { a: 'c' }, { a: '1', b: '2' }, { b: '2', a: '1' }, {}, null),
    metadata,
  ),
)

/** Names to set and to remove, among them those of `changedMetadata`. */
export const changedNames = literal<MetadataChanges>(
  fc.oneof(
    fc.constantFrom({}, { a: '1' }, { a: null }, { b: '2', a: null }, { a: null, b: null }),
    fc.tuple(metadata, fc.boolean()).map(([names, removes]) => {
      const entries = Object.entries(names)
      return Object.fromEntries(
        entries.map(([name, value], index) => [name, removes && index % 2 ? null : value]),
      )
    }),
  ),
)

type AdoptedKeyChoice = 'own' | 'shared' | 'key' | 'pending' | 'active' | { readonly stored: number }

/** The name of bytes that are new, or that something names already. */
export const adoptedKey: Choice<AdoptedKeyChoice, string> = {
  arbitrary: fc.oneof<fc.WeightedArbitrary<AdoptedKeyChoice>[]>(
    { weight: 4, arbitrary: fc.constantFrom('own' as const, 'own' as const, 'key' as const) },
    { weight: 1, arbitrary: fc.constantFrom('pending' as const, 'active' as const, 'shared' as const) },
    { weight: 2, arbitrary: fc.record({ stored: fc.nat(5) }) },
  ),
  resolve(chosen, { active, pending, reference, script }) {
    if (chosen === 'own') return script.freshStorageKey(reference.key)
    if (chosen === 'shared') return 'shared'
    if (chosen === 'key') return reference.key
    if (typeof chosen === 'object') {
      const stored = valueOf(script.model.listStored({ bucket: reference.bucket }))
      return stored[chosen.stored % Math.max(1, stored.length)]?.storageKey ?? reference.key
    }
    return (chosen === 'pending' ? pending : active)?.storageKey ?? reference.key
  },
}

/** Milliseconds from now, or a date at one of the ends. */
export const createdAt: Choice<number | 'ancient' | 'latest', Date> = {
  arbitrary: fc.constantFrom(0, -1, -SECOND, -HOUR, HOUR, 'ancient' as const, 'latest' as const),
  resolve(chosen, { script }) {
    if (chosen === 'latest') return END_OF_TIME
    return chosen === 'ancient' ? new Date('1901-02-03T04:05:06.007Z') : script.clock.in(chosen)
  },
}

/** Any attempt made so far, by number. */
export const madeAttempt: Choice<number, string> = {
  arbitrary: fc.nat(20),
  resolve: (number, { script }) =>
    script.attempts[number % Math.max(1, script.attempts.length)]?.id ?? script.freshId('early'),
}

export const bucket = wordOf('buckets')

/** The name of a row or leftover, by number. */
export const storedName = often<number, string | undefined>({
  arbitrary: fc.nat(5),
  resolve: (number, { script }) =>
    valueOf(script.model.listStored({ bucket: word(script.vocabulary.buckets, 0) }))[number]?.storageKey,
})

/** The first characters of a name. */
export const storedPrefix = often<number, string | undefined>({
  arbitrary: fc.nat(5),
  resolve: (number, { script }) =>
    [...word(script.vocabulary.keys, number)].slice(0, 1 + (number % 2)).join(''),
})
