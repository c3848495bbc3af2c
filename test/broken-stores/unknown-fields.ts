import type { StorageObjectStore } from '../../src/core/store/contract.js'
import { METHODS, takesArguments } from '../conformance/inputs.js'
import { fieldNamesOf } from '../conformance/input-checks.js'
import { callsOf, invalid, overStore, SCRIPTS, type Mutants } from './mutant.js'

const CASE = 'validation: refuses unknown fields, whatever they are called, and changes nothing'

type Input = Readonly<Record<string, unknown>>

/** Passes on the inputs of some calls without the unknown fields that it overlooks. */
function overlooking(
  methods: readonly string[],
  isOverlooked: (name: string) => boolean,
): (context: { readonly now: () => Date }) => StorageObjectStore {
  return overStore((store) =>
    Object.fromEntries(
      METHODS.filter((method) => methods.includes(method)).map((method) => [
        method,
        async (input: unknown) => {
          if (typeof input !== 'object' || input === null) return callsOf(store)[method]!(input)
          const { known } = fieldNamesOf(method)
          const kept = Object.entries(input as Input).filter(
            ([name]) => known.includes(name) || !isOverlooked(name),
          )
          return callsOf(store)[method]!(Object.fromEntries(kept))
        },
      ]),
    ),
  )
}

const withInput = METHODS.filter((method) => !takesArguments(method))

/** Stores that ignore fields which they don't know. */
export const unknownFieldMutants: Mutants = {
  ...Object.fromEntries(
    withInput.map((method) => [
      `ignores unknown fields of ${method}`,
      [overlooking([method], () => true), CASE] as const,
    ]),
  ),
  'takes names that every object has for known fields': [overlooking(withInput, (name) => name in {}), CASE],
  'takes only likely names for unknown fields': [
    overlooking(withInput, (name) => /[^a-z_ A-Z]/.test(name)),
    SCRIPTS.ofUnknownFields,
  ],
  'refuses unknown fields only after the call': [
    overStore((store) => ({
      async remove(input) {
        const unknown = Object.keys(Object(input) as Input).find(
          (name) => !fieldNamesOf('remove').known.includes(name),
        )
        if (unknown === undefined) return store.remove(input)
        await store.remove({ bucket: input.bucket, key: input.key })
        return store.remove(input)
      },
    })),
    CASE,
  ],
  'refuses unknown fields that have no value': [
    overStore((store) => ({
      async findActive(input) {
        if ('surplus' in (Object(input) as object)) throw invalid('surplus')
        return store.findActive(input)
      },
    })),
    'validation: treats unknown fields without a value as absent',
  ],
  'ignores unknown limits of a quota': [
    overStore((store) => ({
      async reserve(input) {
        const { quota } = Object(input) as { readonly quota?: { readonly maxByte?: number } }
        return store.reserve(quota?.maxByte === undefined ? input : { ...input, quota: null })
      },
    })),
    'validation: refuses unknown limits of a quota',
  ],
}
