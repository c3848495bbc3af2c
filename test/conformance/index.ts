import { CASE_GROUPS } from './cases/index.js'
import { Given } from './given.js'
import type { ConformanceOptions, TestRunner } from './options.js'
import { propertySettings } from './options.js'
import { CONCURRENT_SCENARIOS } from './properties/concurrent-scenarios.js'
import { checkConcurrentCalls } from './properties/concurrent.js'
import { SEQUENTIAL_SCENARIOS } from './properties/sequential-scenarios.js'
import { checkSequentialCalls } from './properties/sequential.js'
import { skipTest } from './skip.js'
import { storeFactory } from './store-factory.js'

export type { ConformanceOptions, TestRunner } from './options.js'

/** Generous enough for a store over a network on a busy machine; they only stop a store that hangs. */
const CASE_TIME_LIMIT = 60_000
const PROPERTY_TIME_LIMIT = 600_000

const NEEDS_CONTRACT = "the case needs a StoreDriver with contract: '1.6'"

/**
 * Registers the conformance suite with a test runner. The suite has one case for each sentence of the contract, and
 * properties that run random scripts of sequential and concurrent calls and compare the results with a model. If the driver
 * behind the store doesn't declare contract 1.6, cases of what 1.6 added are skipped, and scripts leave it out.
 *
 * @throws TypeError if an option is invalid, or if `test` is absent and there is no global `describe` and `it`.
 */
export function storeConformance(options: ConformanceOptions): void {
  const runner = options.test ?? globalRunner()
  const settings = propertySettings(options)
  const stores = storeFactory(options)

  runner.describe(`${options.name}: StorageObjectStore`, () => {
    for (const { title, since, cases } of CASE_GROUPS) {
      runner.describe(title, () => {
        for (const [title, body] of Object.entries(cases)) {
          // Rest parameters, because Mocha and Jest pass a callback to a test with a parameter.
          async function test(this: unknown, ...contexts: readonly unknown[]): Promise<void> {
            let isSkipped = false
            await stores.withStore(async (empty) => {
              isSkipped = since !== undefined && since !== empty.contract
              if (!isSkipped) await body(new Given(empty))
            })
            if (isSkipped) skipTest([...contexts, this], NEEDS_CONTRACT)
          }
          runner.it(title, test, CASE_TIME_LIMIT)
        }
      })
    }
    runner.describe('scripts', () => {
      for (const [about, scenario] of Object.entries(SEQUENTIAL_SCENARIOS)) {
        const title = `of sequential calls ${about} match the model`
        runner.it(title, () => checkSequentialCalls(stores, settings, scenario), PROPERTY_TIME_LIMIT)
      }
      for (const [about, scenarios] of Object.entries(CONCURRENT_SCENARIOS)) {
        const title = `of concurrent calls ${about} match the model in some order`
        runner.it(title, () => checkConcurrentCalls(stores, settings, scenarios), PROPERTY_TIME_LIMIT)
      }
    })
  })
}

function globalRunner(): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>
  if (typeof describe === 'function' && typeof it === 'function') return { describe, it }
  throw new TypeError(
    'No global describe() and it() found. Pass those of your test runner: storeConformance({ …, test: { describe, it } }).',
  )
}
