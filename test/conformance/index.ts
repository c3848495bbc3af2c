import { CASE_GROUPS } from './cases/index.js'
import type { Abilities } from './abilities.js'
import { Given, type CaseGroup } from './given.js'
import type { ConformanceOptions, PropertySettings } from './options.js'
import { globalRunner, propertySettings } from './options.js'
import { checkClaims } from './properties/claims.js'
import { CONCURRENT_SCENARIOS } from './properties/concurrent-scenarios.js'
import { checkConcurrentCalls } from './properties/concurrent.js'
import { SEQUENTIAL_SCENARIOS } from './properties/sequential-scenarios.js'
import { checkSequentialCalls } from './properties/sequential.js'
import { skipTest } from './skip.js'
import { storeFactory, type EmptyStore, type StoreFactory } from './store-factory.js'

export { brokenStores, type BrokenStore } from './broken-stores.js'
export type { ConformanceOptions, TestRunner } from './options.js'
export { storeRaces, type StoreRacesOptions } from './races/index.js'
export { runRaceWorker } from './races/worker.js'

/** Generous enough for a store over a network on a busy machine; they only stop a store that hangs. */
const CASE_TIME_LIMIT = 60_000
const PROPERTY_TIME_LIMIT = 600_000

/**
 * Registers the conformance suite with a test runner. The suite has one case for each sentence of the contract, and
 * properties that run random scripts of sequential and concurrent calls and compare the results with a model. If the driver
 * behind the store doesn't declare contract 1.6, lacks an optional method or records no events, the cases that need these are
 * skipped, and scripts leave them out.
 *
 * @throws TypeError if an option is invalid, or if `test` is absent and there is no global `describe` and `it`.
 */
export function storeConformance(options: ConformanceOptions): void {
  const runner = options.test ?? globalRunner('storeConformance')
  const settings = propertySettings(options)
  const stores = storeFactory(options)

  runner.describe(`${options.name}: StorageObjectStore`, () => {
    for (const group of CASE_GROUPS) {
      runner.describe(group.title, () => {
        for (const [title, body] of Object.entries(group.cases)) {
          // Rest parameters, because Mocha and Jest pass a callback to a test with a parameter.
          async function test(this: unknown, ...contexts: readonly unknown[]): Promise<void> {
            const { needs, events = false } = group
            const reason =
              needs !== undefined && !options[needs]
                ? `the case needs the option "${needs}" of storeConformance`
                : whySkipped(group, await stores.abilities())
            if (reason !== null) return skipTest([...contexts, this], reason)
            const use = (empty: EmptyStore) => body(new Given(empty))
            await (needs === 'createEmpty' ? stores.withoutSchema(use) : stores.withStore(events, use))
          }
          runner.it(title, test, CASE_TIME_LIMIT)
        }
      })
    }
    runner.describe('scripts', () => {
      for (const [number, { title, run, events }] of scripts(stores).entries()) {
        async function test(this: unknown, ...contexts: readonly unknown[]): Promise<void> {
          const isAnother = settings.replay !== null && settings.replay.script !== number
          const reason = isAnother
            ? 'the option "path" repeats another script'
            : whySkipped({ events }, await stores.abilities())
          if (reason !== null) return skipTest([...contexts, this], reason)
          await run({ ...settings, script: number })
        }
        runner.it(title, test, PROPERTY_TIME_LIMIT)
      }
    })
  })
}

interface ScriptTest {
  readonly title: string
  readonly events: boolean
  readonly run: (settings: PropertySettings) => Promise<void>
}

function scripts(stores: StoreFactory): readonly ScriptTest[] {
  return [
    ...Object.entries(SEQUENTIAL_SCENARIOS).map(([about, scenario]) => ({
      title: `of sequential calls ${about} match the model`,
      events: false,
      run: (settings: PropertySettings) => checkSequentialCalls(stores, settings, scenario),
    })),
    ...Object.entries(CONCURRENT_SCENARIOS).map(([about, scenarios]) => ({
      title: `of concurrent calls ${about} match the model in some order`,
      events: false,
      run: (settings: PropertySettings) => checkConcurrentCalls(stores, settings, scenarios),
    })),
    {
      title: 'of workers that claim events at the same time settle each once, in order',
      events: true,
      run: (settings) => checkClaims(stores, settings),
    },
  ]
}

/** Returns why the cases of a group can't run on a store, or `null`. */
function whySkipped(
  { since, methods = [], events }: Pick<CaseGroup, 'since' | 'methods' | 'events'>,
  { contract, lacks, recordsEvents }: Abilities,
): string | null {
  if (since !== undefined && since !== contract)
    return `the case needs a StoreDriver with contract: '${since}'`
  const missing = methods.find((method) => lacks.has(method))
  if (missing !== undefined) return `the case needs the method "${missing}" of StoreDriver`
  if (events && lacks.has('listEvents')) return 'the case needs the methods of events of StoreDriver'
  if (events && !recordsEvents)
    return 'the case needs events, and createStore({ now, events: true }) returned a store that records none'
  return null
}
