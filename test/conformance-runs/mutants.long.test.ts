import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { MUTANTS } from '../broken-stores/index.js'
import { collectTests } from './collect-tests.js'
import { isScript, rejections } from './rejections.js'

for (const [part, mutants] of Object.entries(MUTANTS)) {
  describe(`mutants of ${part}`, () => {
    for (const mutant of mutants) {
      it(`rejects a store that ${mutant.defect}`, async () => {
        const { rejectedBy } = mutant
        expect(await rejections(mutant, (title) => rejectedBy.includes(title))).toEqual(
          expect.arrayContaining([...rejectedBy]),
        )
      })
    }
  })
}

describe('the mutants', () => {
  const mutants = Object.values(MUTANTS).flat()

  it('each have their own name', () => {
    const defects = mutants.map(({ defect }) => defect)
    expect(defects).toEqual([...new Set(defects)])
  })

  it('include one for every script', () => {
    const titles = collectTests({ name: 'memory', createStore: memoryAdapter }).map(({ title }) => title)
    const named = new Set(mutants.flatMap(({ rejectedBy }) => rejectedBy))
    expect(titles.filter((title) => isScript(title) && !named.has(title))).toEqual([])
  })
})
