import fc from 'fast-check'
import { same } from '../assertions.js'
import { observeStore, type MethodName } from '../calls.js'
import { outcomeDifference } from '../difference.js'
import { ConformanceFailure } from '../failure.js'
import { Given } from '../given.js'
import { callWith, METHODS, takesArguments } from '../inputs.js'
import type { PropertySettings } from '../options.js'
import { requiredInputs, someRows, stateOf } from '../required-inputs.js'
import type { StoreFactory } from '../store-factory.js'
import { unknownNames, withOwnField } from '../unknown-fields.js'
import { check } from './check.js'

interface Misspelt {
  readonly method: MethodName
  readonly name: string
  readonly value: unknown
}

const values = fc.constantFrom<unknown>('alice', 'bob', 'key', 'bucket', 1, 1000, true, false, {}, [])

const misspelt: fc.Arbitrary<Misspelt> = fc
  .constantFrom(...METHODS.filter((method) => !takesArguments(method)))
  .chain((method) => fc.record({ method: fc.constant(method), name: unknownNames(method), value: values }))

/** Runs calls that each have a field which they don't know. All are refused with its name, and none changes anything. */
export async function checkUnknownFields(stores: StoreFactory, settings: PropertySettings): Promise<void> {
  await check(
    stores,
    fc.array(misspelt, { minLength: 1, maxLength: 20 }),
    (calls) =>
      stores.withStore(false, async (empty) => {
        const given = new Given(empty)
        await someRows(given)
        const before = await stateOf(given)
        for (const { method, name, value } of calls) {
          const input = withOwnField(requiredInputs(given)[method], name, value)
          const outcome = await observeStore(given.store, callWith(method, input))
          const found = outcomeDifference({ error: 'VALIDATION_ERROR', fields: [name] }, outcome)
          if (found !== null) {
            throw new ConformanceFailure(`${method} with the unknown field ${JSON.stringify(name)}: ${found}`)
          }
        }
        same(await stateOf(given), before, 'the state after the refused calls')
      }),
    settings,
  )
}
