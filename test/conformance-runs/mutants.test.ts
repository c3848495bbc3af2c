import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { isLongLists } from '../conformance-groups.js'
import { isLongRun } from '../long-runs.js'
import { collectTests } from './collect-tests.js'
import { CASE_GROUPS } from '../conformance/cases/index.js'
import { MUTANTS } from '../broken-stores/index.js'
import type { Mutant } from '../broken-stores/mutant.js'

/** A fixed seed, so the result doesn't depend on luck. Most mutants fail within the first few runs. */
const SCRIPTS = { seed: 20_260_101, numRuns: 400, shrink: false }

/**
 * Every case must be named by a mutant that at most five other cases reject. Otherwise the case could be lost, or check nothing,
 * without any test failing. The limit is not one, because a defect often shows in several places: in the result of a call,
 * a later read, a list, usage and leftovers. Cases of what 1.6 adds begin with calls of 1.5, so they reject most stores that
 * are faulty there, and don't count for the cases of 1.5.
 */
const MOST_REJECTIONS = 6

const isScript = (title: string) => title.startsWith('scripts: ')

/** Half of the time of all cases. They run only on the mutants that they must reject. */
const isSlow = (title: string) =>
  isLongLists(title) || title === 'events: return rows with any text, any metadata and any size unchanged'

const addedTitles = new Set(
  CASE_GROUPS.filter(({ since, methods, events }) => since ?? methods ?? events).flatMap(({ title, cases }) =>
    Object.keys(cases).map((name) => `${title}: ${name}`),
  ),
)

const allMutants = Object.values(MUTANTS).flat()

/**
 * Returns the tests that must reject a mutant. Scripts take most of the time, so short runs leave out those that other
 * mutants and the cases of this one already cover.
 */
function mustReject({ rejectedBy, defect }: Mutant): readonly string[] {
  if (isLongRun || rejectedBy.every(isScript)) return rejectedBy
  const isFirstOf = (script: string) =>
    allMutants.find((each) => each.rejectedBy.includes(script))?.defect === defect
  return rejectedBy.filter((title) => !isScript(title) || isFirstOf(title))
}

interface Effort {
  readonly isEnough?: (rejected: readonly string[]) => boolean
  readonly numRuns?: number
}

/** Runs tests of a mutant until `isEnough`, and returns the titles of those that reject it. */
async function rejections(
  mutant: Mutant,
  isTried: (title: string) => boolean,
  { isEnough = () => false, numRuns = SCRIPTS.numRuns }: Effort = {},
): Promise<readonly string[]> {
  const rejected: string[] = []
  const options = { name: 'mutant', createStore: mutant.createStore, ...mutant.options, ...SCRIPTS, numRuns }
  for (const { title, run } of collectTests(options)) {
    if (!isTried(title)) continue
    const error: unknown = await run().catch((thrown: unknown) => thrown)
    // A mutant that fails with any other error crashed by itself.
    const isRejection = error instanceof Error && /^(ConformanceFailure|StorageError)$/.test(error.name)
    if (isRejection) rejected.push(title)
    if (isEnough(rejected)) break
  }
  return rejected
}

const ofOlder = (titles: readonly string[]) => titles.filter((title) => !addedTitles.has(title))

/** Returns the cases that a mutant shows to be specific. Stops at a mutant that too many cases reject. */
async function shownSpecific(mutant: Mutant): Promise<readonly string[]> {
  const isTooMany = (titles: readonly string[]) => titles.length > MOST_REJECTIONS
  const cases = await rejections(
    mutant,
    (title) => !isScript(title) && (!isSlow(title) || mutant.rejectedBy.includes(title)),
    // Cases that are properties need no more runs, since the first few find what is wrong in every row.
    { isEnough: (rejected) => isTooMany(ofOlder(rejected)), numRuns: 5 },
  )
  if (!isTooMany(cases)) return cases
  return isTooMany(ofOlder(cases)) ? [] : ofOlder(cases)
}

/** Returns the cases that no mutant which names them shows to be specific. Tries the mutants that name the fewest first. */
async function unspecificCases(titles: readonly string[]): Promise<readonly string[]> {
  const left = new Set(titles.filter((title) => !isScript(title)))
  const untried = new Set(allMutants.toSorted((a, b) => a.rejectedBy.length - b.rejectedBy.length))
  for (const title of left) {
    for (const mutant of untried) {
      if (!mutant.rejectedBy.includes(title) || !left.has(title)) continue
      untried.delete(mutant)
      for (const specific of await shownSpecific(mutant)) left.delete(specific)
    }
  }
  return [...left]
}

for (const [part, mutants] of Object.entries(MUTANTS)) {
  describe(`mutants of ${part}`, () => {
    for (const mutant of mutants) {
      it(`rejects a store that ${mutant.defect}`, async () => {
        const expected = mustReject(mutant)
        expect(await rejections(mutant, (title) => expected.includes(title))).toEqual(
          expect.arrayContaining([...expected]),
        )
      })
    }
  })
}

describe('the mutants', () => {
  const titles = collectTests({ name: 'memory', createStore: memoryAdapter }).map(({ title }) => title)

  it('each have their own name', () => {
    const defects = allMutants.map(({ defect }) => defect)
    expect(defects).toEqual([...new Set(defects)])
  })

  it('include one for every script', () => {
    const named = new Set(allMutants.flatMap(({ rejectedBy }) => rejectedBy))
    expect(titles.filter((title) => isScript(title) && !named.has(title))).toEqual([])
  })

  // Runs every case on hundreds of mutants, so only long runs check it.
  it.runIf(isLongRun)(`name every case in one that at most ${MOST_REJECTIONS} cases reject`, async () => {
    expect(await unspecificCases(titles)).toEqual([])
  })
})
