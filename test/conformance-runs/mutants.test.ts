import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { isLongRun } from '../long-runs.js'
import { collectTests } from './collect-tests.js'
import { CASE_GROUPS } from '../conformance/cases/index.js'
import { MUTANTS } from './mutants/index.js'
import type { Mutant } from './mutants/mutant.js'

/** A fixed seed, so the result doesn't depend on luck. Most mutants fail within the first few runs. */
const SCRIPTS = { seed: 20_260_101, numRuns: 400, shrink: false }

/**
 * Every case must reject a mutant that at most four other cases reject. Otherwise the case could be lost, or check nothing,
 * without any test failing. The limit is not one, because a defect often shows in several places: in the result of a call,
 * a later read, a list, usage and leftovers. Cases of what 1.6 adds begin with calls of 1.5, so they reject most stores that
 * are faulty there, and don't count for the cases of 1.5.
 */
const MOST_REJECTIONS = 5

const isScript = (title: string) => title.startsWith('scripts: ')

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

const rejections = new Map<Mutant, Promise<readonly string[]>>()

/** Returns what rejects a mutant, out of the tests that must and, in long runs, every other case. */
function rejectionsOf(mutant: Mutant): Promise<readonly string[]> {
  const known = rejections.get(mutant) ?? findRejections(mutant)
  rejections.set(mutant, known)
  return known
}

async function findRejections(mutant: Mutant): Promise<readonly string[]> {
  const expected = mustReject(mutant)
  const rejected: string[] = []
  for (const { title, run } of collectTests({
    name: 'mutant',
    createStore: mutant.createStore,
    ...SCRIPTS,
  })) {
    const isOptional = isLongRun && !isScript(title)
    if (!isOptional && !expected.includes(title)) continue
    const error: unknown = await run().catch((thrown: unknown) => thrown)
    // A mutant that fails with any other error crashed by itself.
    const isRejection = error instanceof Error && /^(ConformanceFailure|StorageError)$/.test(error.name)
    if (isRejection) rejected.push(title)
  }
  return rejected
}

for (const [part, mutants] of Object.entries(MUTANTS)) {
  describe(`mutants of ${part}`, () => {
    for (const mutant of mutants) {
      it(`rejects a store that ${mutant.defect}`, async () => {
        expect(await rejectionsOf(mutant)).toEqual(expect.arrayContaining([...mustReject(mutant)]))
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

  // Needs every case on every mutant, so only long runs check it.
  it.runIf(isLongRun)(
    `include one for every case that at most ${MOST_REJECTIONS} cases reject`,
    async () => {
      const fewest = new Map<string, number>()
      for (const mutant of allMutants) {
        const cases = (await rejectionsOf(mutant)).filter((title) => !isScript(title))
        const ofOlder = cases.filter((title) => !addedTitles.has(title)).length
        for (const title of cases) {
          const others = addedTitles.has(title) ? cases.length : ofOlder
          fewest.set(title, Math.min(fewest.get(title) ?? Infinity, others))
        }
      }
      const unspecific = titles.filter(
        (title) => !isScript(title) && (fewest.get(title) ?? Infinity) > MOST_REJECTIONS,
      )
      expect(unspecific).toEqual([])
    },
    600_000,
  )
})
