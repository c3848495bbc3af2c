import { CASE_GROUPS } from './cases/index.js'
import { Given } from './given.js'
import type { ConformanceOptions, TestRunner } from './options.js'
import { propertySettings } from './options.js'
import { placesOf } from './places.js'
import { callsAtOnce } from './properties/at-once.js'
import { callsInTurn } from './properties/in-turn.js'
import { RUSHES } from './properties/programs.js'
import { TALES } from './properties/tales.js'

export type { ConformanceOptions, TestRunner } from './options.js'

/** Generous, because a store over a network on a busy machine takes its time; a store that hangs still ends. */
const CASE_TIME_LIMIT = 60_000
const PROPERTY_TIME_LIMIT = 600_000

/**
 * Registers the suite that every adapter of the library passes with a test runner: each sentence of the contract that
 * answers can show as a case of its own, and scripts of calls, in turn and at once, that are compared with a model.
 *
 * @throws TypeError where there is no test runner, or an option makes no sense.
 */
export function storeConformance(options: ConformanceOptions): void {
  const runner = options.test ?? globalRunner()
  const settings = propertySettings(options)
  const places = placesOf(options)

  runner.describe(`${options.name}: StorageObjectStore`, () => {
    for (const { title, cases } of CASE_GROUPS) {
      runner.describe(title, () => {
        for (const [sentence, body] of Object.entries(cases)) {
          runner.it(
            sentence,
            () => places.withStore((store, clock) => body(new Given(store, clock))),
            CASE_TIME_LIMIT,
          )
        }
      })
    }
    runner.describe('scripts', () => {
      for (const [what, tale] of Object.entries(TALES)) {
        const title = `of calls in turn ${what} come to what the model comes to`
        runner.it(title, () => callsInTurn(places, settings, tale), PROPERTY_TIME_LIMIT)
      }
      for (const [what, rush] of Object.entries(RUSHES)) {
        const title = `of calls at once ${what} come to what the model comes to in some order`
        runner.it(title, () => callsAtOnce(places, settings, rush), PROPERTY_TIME_LIMIT)
      }
    })
  })
}

function globalRunner(): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>
  if (typeof describe === 'function' && typeof it === 'function') return { describe, it }
  throw new TypeError(
    'storeConformance() found no global describe() and it(). Pass those of your test runner: storeConformance({ …, test: { describe, it } }).',
  )
}
