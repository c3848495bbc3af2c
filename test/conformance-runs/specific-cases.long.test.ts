import { memoryAdapter } from '@svc/db/memory'
import { expect, it } from 'vitest'
import { BROKEN_STORES } from '../broken-stores/index.js'
import type { Mutant } from '../broken-stores/mutant.js'
import { isLongLists } from '../conformance-groups.js'
import { collectTests } from './collect-tests.js'
import { isScript, rejections } from './rejections.js'

/**
 * Every case must be named by a mutant that at most five other cases reject. Otherwise the case could be lost, or check nothing,
 * without any test failing. The limit is not one, because a defect often shows in several places: in the result of a call,
 * a later read, a list, usage and leftovers. Cases of calls that build on others begin with these, so they reject most stores
 * that are faulty there, and don't count for the cases of the others.
 */
const MOST_REJECTIONS = 6

/** Most of the time of all cases. They run only on the mutants that they must reject. */
const isSlow = (title: string) => isLongLists(title) || SLOW.has(title)
const SLOW = new Set([
  'events: return rows with any text, any metadata and any size unchanged',
  'events: are listed as soon as the change is visible',
  'strings: are returned unchanged from every field',
  'validation: refuses unknown fields, whatever they are called, and changes nothing',
])

/** The groups of calls that build on others. */
const BUILDING =
  /^(adopt|all fields|arrived attempts|claimEvents|confirm with accept|countEvents|deferLeftover|endTemporary|events|extendClaims|findById|history of a scope|history of an object|keep|leftovers by scope|leftovers of temporary objects|listArrived|listEvents|listScopes|listStored|listTemporary|long lists of|quota of a transfer|reject|remove of an attempt|setMetadata|settleEvents|temporary objects|transfer|two stores on one place with events|update|verdicts and ends)/

const isBasic = (title: string) => !BUILDING.test(title)
const ofBasicCalls = (titles: readonly string[]) => titles.filter(isBasic)

/** Returns the cases that a mutant shows to be specific. Stops at a mutant that too many cases reject. */
async function shownSpecific(mutant: Mutant): Promise<readonly string[]> {
  const isTooMany = (titles: readonly string[]) => titles.length > MOST_REJECTIONS
  // Whether cases of calls that build on others reject it doesn't matter then.
  const namesOnlyBasic = mutant.rejectedBy.every(isBasic)
  const isTried = (title: string) =>
    mutant.rejectedBy.includes(title) ||
    !(isScript(title) || isSlow(title) || (namesOnlyBasic && !isBasic(title)))
  const cases = await rejections(
    mutant,
    (title) => !isScript(title) && isTried(title),
    // Cases that are properties need no more runs, since the first few find what is wrong in every row.
    { isEnough: (rejected) => isTooMany(ofBasicCalls(rejected)), numRuns: 5 },
  )
  if (!isTooMany(cases)) return cases
  return isTooMany(ofBasicCalls(cases)) ? [] : ofBasicCalls(cases)
}

/** Returns the cases that no mutant which names them shows to be specific. Tries the mutants that name the fewest first. */
async function unspecificCases(titles: readonly string[]): Promise<readonly string[]> {
  const left = new Set(titles.filter((title) => !isScript(title)))
  const untried = new Set(BROKEN_STORES.toSorted((a, b) => a.rejectedBy.length - b.rejectedBy.length))
  for (const title of left) {
    for (const mutant of untried) {
      if (!mutant.rejectedBy.includes(title) || !left.has(title)) continue
      untried.delete(mutant)
      for (const specific of await shownSpecific(mutant)) left.delete(specific)
    }
  }
  return [...left]
}

it(`every case is named by a mutant that at most ${MOST_REJECTIONS} cases reject`, async () => {
  const titles = collectTests({ name: 'memory', createStore: memoryAdapter }).map(({ title }) => title)
  expect(await unspecificCases(titles)).toEqual([])
})
