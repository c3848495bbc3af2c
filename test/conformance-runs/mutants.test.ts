import { describe, expect, it } from 'vitest'
import { collectTests, type CollectedTest } from './collect-tests.js'
import { attemptMutants, reserveMutants } from './mutants/attempts.js'
import { expiryMutants, leftoverMutants } from './mutants/cleaning.js'
import { listingMutants } from './mutants/listing.js'
import { mannerMutants } from './mutants/manners.js'
import type { Mutant } from './mutants/mutant.js'
import { objectMutants } from './mutants/objects.js'
import { quotaMutants, usageMutants } from './mutants/quota.js'
import { raceMutants } from './mutants/races.js'
import { valueMutants } from './mutants/values.js'

/** The same scripts every time: whether a mutant is caught must not depend on luck. Most need only a few of the runs. */
const SCRIPTS = { seed: 20_260_101, numRuns: 400, shrink: false }

const THEMES: Record<string, readonly Mutant[]> = {
  'a store that lists wrongly': listingMutants,
  'a store that compares quotas wrongly': quotaMutants,
  'a store that measures usage wrongly': usageMutants,
  'a store that reserves wrongly': reserveMutants,
  'a store that goes on with attempts wrongly': attemptMutants,
  'a store that replaces and removes wrongly': objectMutants,
  'a store that lets reservations lapse wrongly': expiryMutants,
  'a store that remembers leftovers wrongly': leftoverMutants,
  'a store that keeps values wrongly': valueMutants,
  'a store without manners': mannerMutants,
  'a store that is overtaken by other calls': raceMutants,
}

/** The name of the error with which the test fails; a mutant that breaks down by itself would prove nothing. */
async function failureOf(test: CollectedTest): Promise<string> {
  try {
    await test.run()
    return 'none'
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}

for (const [theme, mutants] of Object.entries(THEMES)) {
  describe(theme, () => {
    for (const { it: breaks, createStore, caughtBy } of mutants) {
      it(`is rejected if it ${breaks}`, async () => {
        const tests = collectTests({ name: 'mutant', createStore, ...SCRIPTS })
        for (const title of caughtBy) {
          const test = tests.find((each) => each.title === title)
          if (!test) throw new Error(`There is no test "${title}".`)
          expect(await failureOf(test), `"${title}" let it pass`).toMatch(
            /^(ConformanceFailure|StorageError)$/,
          )
        }
      })
    }
  })
}
