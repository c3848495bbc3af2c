import { CASE_GROUPS } from './cases/index.js'
import { Given } from './given.js'
import type { ConformanceOptions, PropertySettings } from './options.js'
import { globalRunner, propertySettings } from './options.js'
import { checkClaims } from './properties/claims.js'
import { CONCURRENT_SCENARIOS } from './properties/concurrent-scenarios.js'
import { checkConcurrentCalls } from './properties/concurrent.js'
import { SEQUENTIAL_SCENARIOS } from './properties/sequential-scenarios.js'
import { checkSequentialCalls } from './properties/sequential.js'
import { checkUnknownFields } from './properties/unknown-fields.js'
import { skipTest } from './skip.js'
import { storeFactories, type EmptyStore, type StoreFactory } from './store-factory.js'

export { brokenStores, type BrokenStore } from './broken-stores.js'
export type { ConformanceOptions, TestRunner } from './options.js'
export { storeRaces, type StoreRacesOptions } from './races/index.js'
export { runRaceWorker } from './races/worker.js'

/** For test runners. The suite itself has stopped what hangs before. */
const CASE_TIME_LIMIT = 240_000
const PROPERTY_TIME_LIMIT = 600_000

/**
 * Registers the conformance suite with a test runner. The suite has one case for each sentence of the contract, and
 * properties that run random scripts of sequential and concurrent calls and compare the results with a model. Cases that need
 * an option which is left out are skipped.
 *
 * @throws TypeError if an option is invalid, or if `test` is absent and there is no global `describe` and `it`.
 *
 * @example
 * import { describe, it } from 'node:test'
 * import { memoryAdapter } from '@svc/db/memory'
 * import { storeConformance } from '@svc/db/conformance'
 *
 * storeConformance({ name: 'myAdapter', createStore: memoryAdapter, test: { describe, it } })
 */
export function storeConformance(options: ConformanceOptions): void {
  const settings = propertySettings(options)
  const runner = options.test ?? globalRunner('storeConformance')
  const storesOf = storeFactories(options)

  runner.describe(`${options.name}: StorageObjectStore`, () => {
    for (const group of CASE_GROUPS) {
      runner.describe(group.title, () => {
        for (const [title, body] of Object.entries(group.cases)) {
          // Rest parameters, because Mocha and Jest pass a callback to a test with a parameter.
          async function test(this: unknown, ...contexts: readonly unknown[]): Promise<void> {
            const { needs, events = false } = group
            if (needs !== undefined && !options[needs]) {
              const reason = `the case needs the option "${needs}" of storeConformance`
              return skipTest([...contexts, this], reason)
            }
            const use = (empty: EmptyStore) => body(new Given(empty))
            const stores = storesOf(`${group.title}: ${title}`)
            await (needs === 'createEmpty' ? stores.withoutSchema(use) : stores.withStore(events, use))
          }
          runner.it(title, test, CASE_TIME_LIMIT)
        }
      })
    }
    runner.describe('scripts', () => {
      for (const [number, { title, run }] of scripts().entries()) {
        async function test(this: unknown, ...contexts: readonly unknown[]): Promise<void> {
          if (settings.replay !== null && settings.replay.script !== number) {
            return skipTest([...contexts, this], 'the option "path" repeats another script')
          }
          await run(storesOf(`scripts: ${title}`), { ...settings, script: number })
        }
        runner.it(title, test, PROPERTY_TIME_LIMIT)
      }
    })
  })
}

interface ScriptTest {
  readonly title: string
  readonly run: (stores: StoreFactory, settings: PropertySettings) => Promise<void>
}

function scripts(): readonly ScriptTest[] {
  return [
    ...Object.entries(SEQUENTIAL_SCENARIOS).map(([about, scenario]): ScriptTest => ({
      title: `of sequential calls ${about} match the model`,
      run: (stores, settings) => checkSequentialCalls(stores, settings, scenario),
    })),
    ...Object.entries(CONCURRENT_SCENARIOS).map(([about, scenarios]): ScriptTest => ({
      title: `of concurrent calls ${about} match the model in some order`,
      run: (stores, settings) => checkConcurrentCalls(stores, settings, scenarios),
    })),
    {
      title: 'of workers that claim events at the same time settle each once, in order',
      run: checkClaims,
    },
    { title: 'of calls with unknown fields are refused, and change nothing', run: checkUnknownFields },
  ]
}
